"""The floor: what fetching a site and finding its links costs with nothing else.

libcurl's plain multi loop, lexbor, hrefs deduplicated and joined by ada, a set of seen URLs in
memory. No robots.txt, no delay, no store, no frontier, no output: a lower bound for any crawler
on these libraries, and the yardstick of `make bench`.

    python bench/floor.py URL [CONCURRENCY]

prints one JSON object.
"""

import json
import resource
import sys
import time
from collections import deque
from io import BytesIO

import ada_url
import pycurl
from selectolax.lexbor import LexborHTMLParser


class Floor:
    """Crawls everything below the seed's folder, breadth first."""

    def __init__(self, seed: str, concurrency: int) -> None:
        self._prefix = seed.rpartition("/")[0] + "/"
        self._seen = {seed}
        self._queue = deque([seed])
        self._multi = pycurl.CurlMulti()
        self._free = [pycurl.Curl() for _ in range(concurrency)]
        self._transfers: dict[pycurl.Curl, tuple[str, BytesIO]] = {}
        self.pages = 0
        self.bytes = 0

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
        body = buffer.getvalue()
        self.pages += 1
        self.bytes += len(body)
        is_html = (curl.getinfo(pycurl.CONTENT_TYPE) or "").startswith("text/html")
        if curl.getinfo(pycurl.RESPONSE_CODE) == 200 and is_html:
            self._follow(url, body)

    def _follow(self, url: str, body: bytes) -> None:
        hrefs = set()
        for anchor in LexborHTMLParser(body).css("a[href]"):
            href = anchor.attributes.get("href")
            if href:
                hrefs.add(href.partition("#")[0])
        hrefs.discard("")
        for href in hrefs:
            try:
                link = ada_url.join_url(url, href)
            except ValueError:
                continue
            if link.startswith(self._prefix) and link not in self._seen:
                self._seen.add(link)
                self._queue.append(link)


def main() -> None:
    """Crawl and say what it cost."""
    concurrency = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    floor = Floor(sys.argv[1], concurrency)
    started_at = time.monotonic()
    floor.run()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "pages": floor.pages,
                "bytes": floor.bytes,
                "seconds": round(time.monotonic() - started_at, 3),
                "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
                "peak_bytes": usage.ru_maxrss * 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
