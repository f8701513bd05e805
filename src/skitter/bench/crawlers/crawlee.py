"""Crawlee for Python as its documentation advises for speed, crawling one host.

Parsel, the faster of its parsers; storage in memory, the fastest; its default HTTP client; its
autoscaling pinned to the concurrency that all crawlers get; neither sessions nor the search
for signs of blocking. Pages go to the file as they come, which is cheaper than its dataset.

    python -m skitter.bench.crawlers.crawlee URL CONCURRENCY FILE
"""

import asyncio
import logging
import sys
from typing import TextIO

import msgspec
from crawlee import ConcurrencySettings, Request, RequestOptions
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient

__all__ = ["crawl"]


async def crawl(seed: str, concurrency: int, lines: TextIO) -> None:
    """Follow every link of the seed's host and describe every page."""
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(
            min_concurrency=concurrency,
            desired_concurrency=concurrency,
            max_concurrency=concurrency,
        ),
        use_session_pool=False,
        retry_on_blocked=False,
        respect_robots_txt_file=False,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def describe(context: ParselCrawlingContext) -> None:
        requests = await context.extract_links(transform_request_function=_keyed)
        page = {
            "url": context.request.loaded_url,
            "status": context.http_response.status_code,
            "title": context.selector.xpath("//title/text()").get(),
            "links": [request.url for request in requests],
        }
        lines.write(msgspec.json.encode(page).decode() + "\n")
        await context.add_requests(requests)

    await crawler.run([Request.from_url(seed, unique_key=seed)])


def _keyed(request: RequestOptions) -> RequestOptions:
    """The URL is the key: Crawlee's own ignores case and a final slash, and costs more."""
    request["url"] = request["unique_key"] = request["url"].partition("#")[0]
    return request


if __name__ == "__main__":
    logging.disable()
    seed, concurrency, path = sys.argv[1:]
    with open(path, "w", encoding="utf-8") as lines:  # noqa: PTH123  (a bare argument)
        asyncio.run(crawl(seed, int(concurrency), lines))
