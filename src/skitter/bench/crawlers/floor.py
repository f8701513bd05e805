"""The floor: what fetching a site and finding its links costs with nothing else.

libcurl's plain multi loop, lexbor, hrefs deduplicated and joined by ada, a set of seen URLs in
memory. No robots.txt, no delay, no store, no frontier, no output: a lower bound for any crawler
on these libraries, and a yardstick for ours.

    python -m skitter.bench.crawlers.floor URL CONCURRENCY

prints how many pages answered 200.
"""

import sys
from collections import deque
from io import BytesIO

import ada_url
import pycurl
from selectolax.lexbor import LexborHTMLParser

__all__ = ["Floor"]


class Floor:
    """Crawls the seed's host, breadth first."""

    def __init__(self, seed: str, concurrency: int) -> None:
        self._prefix = ada_url.URL(seed).origin + "/"
        self._seen = {seed}
        self._queue = deque([seed])
        self._multi = pycurl.CurlMulti()
        self._free = [_handle() for _ in range(concurrency)]
        self._transfers: dict[pycurl.Curl, tuple[str, BytesIO]] = {}
        #: Answers with status 200.
        self.pages = 0

    def run(self) -> None:
        """Until nothing is left."""
        while self._queue or self._transfers:
            while self._queue and self._free:
                self._start(self._free.pop(), self._queue.popleft())
            self._multi.perform()
            if not self._collect() and self._transfers:
                self._multi.select(1.0)

    def _start(self, curl: pycurl.Curl, url: str) -> None:
        body = BytesIO()
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.WRITEFUNCTION, body.write)
        self._transfers[curl] = url, body
        self._multi.add_handle(curl)

    def _collect(self) -> int:
        collected = 0
        while True:
            queued, done, failed = self._multi.info_read()
            for curl in (*done, *(curl for curl, _, _ in failed)):
                self._finish(curl)
                collected += 1
            if not queued:
                return collected

    def _finish(self, curl: pycurl.Curl) -> None:
        self._multi.remove_handle(curl)
        url, buffer = self._transfers.pop(curl)
        self._free.append(curl)
        if curl.getinfo(pycurl.RESPONSE_CODE) != 200:
            self._add(curl.getinfo(pycurl.REDIRECT_URL) or "")
            return
        self.pages += 1
        if (curl.getinfo(pycurl.CONTENT_TYPE) or "").startswith("text/html"):
            self._follow(url, buffer.getvalue())

    def _follow(self, url: str, body: bytes) -> None:
        hrefs = set()
        for anchor in LexborHTMLParser(body).css("a[href]"):
            href = anchor.attributes.get("href")
            if href:
                hrefs.add(href.partition("#")[0])
        hrefs.discard("")
        for href in hrefs:
            try:
                self._add(ada_url.join_url(url, href))
            except ValueError:
                continue

    def _add(self, url: str) -> None:
        if url.startswith(self._prefix) and url not in self._seen:
            self._seen.add(url)
            self._queue.append(url)


def _handle() -> pycurl.Curl:
    curl = pycurl.Curl()
    curl.setopt(pycurl.ACCEPT_ENCODING, "")  # every one that libcurl knows
    return curl


if __name__ == "__main__":
    floor = Floor(sys.argv[1], int(sys.argv[2]))
    floor.run()
    sys.stdout.write(f"{floor.pages}\n")
