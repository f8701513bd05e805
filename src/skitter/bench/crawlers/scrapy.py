"""Scrapy as its documentation advises for speed, crawling one host.

Link extractor in a plain spider, as "Link Extractors" shows, so links are extracted once for
following and output; "Broad Crawls": no cookies, no log. All file types are followed and
every status reaches the spider, as with the other crawlers. Output is Scrapy's own JSONL feed.

    python -m skitter.bench.crawlers.scrapy URL CONCURRENCY FILE [JOBDIR]
"""

import logging
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

__all__ = ["HostSpider", "settings"]


class HostSpider(scrapy.Spider):
    """Follows every link of the seed's host and describes every page."""

    name = "host"

    def __init__(self, url: str, **arguments: Any) -> None:  # noqa: ANN401  (Scrapy's own)
        super().__init__(**arguments)
        self.start_urls = [url]
        # With its port, which the extractor compares too.
        self._links = LinkExtractor(allow_domains=[urlsplit(url).netloc], deny_extensions=[])

    def parse(self, response: Response, **_arguments: Any) -> Iterator[Any]:  # noqa: ANN401
        """The page, then where it leads."""
        links: list[str] = []
        title = None
        if isinstance(response, HtmlResponse):
            links = [link.url for link in self._links.extract_links(response)]
            title = response.xpath("//title/text()").get()
        yield {"url": response.url, "status": response.status, "title": title, "links": links}
        for link in links:
            yield scrapy.Request(link)


def settings(concurrency: int, feed: str, job_folder: str | None) -> dict[str, object]:
    """Everything that differs from Scrapy's defaults."""
    return {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "LOG_ENABLED": False,
        "STATS_DUMP": False,
        "TELNETCONSOLE_ENABLED": False,
        "HTTPERROR_ALLOW_ALL": True,
        "FEEDS": {feed: {"format": "jsonlines"}},
        "JOBDIR": job_folder,
    }


if __name__ == "__main__":
    seed, concurrency, feed, *job_folder = sys.argv[1:]
    chosen = settings(int(concurrency), feed, job_folder[0] if job_folder else None)
    # LOG_ENABLED alone still makes a log record of every request and item, for nobody.
    logging.disable()
    process = CrawlerProcess(chosen)
    process.crawl(HostSpider, url=seed)
    process.start()
