"""Crawlee for Python as its documentation shows and advises for speed, crawling one host.

Parsel, the faster of its parsers; links followed by `enqueue_links`, pages kept by `push_data`; its
default HTTP client; its autoscaling pinned to the concurrency that all crawlers get; neither
sessions nor the search for signs of blocking. Storage in memory, its fastest, or in files, its
default, which is the one that survives a crash.

    python -m skitter.bench.crawlers.crawlee URL CONCURRENCY FILE [FOLDER]
"""

import asyncio
import logging
import sys
from pathlib import Path

import msgspec
from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient

__all__ = ["crawl"]


async def crawl(seed: str, concurrency: int, output: Path, folder: Path | None) -> None:
    """Follow every link of the seed's host and describe every page."""
    crawler = ParselCrawler(
        configuration=Configuration(storage_dir=str(folder)) if folder else Configuration(),
        storage_client=FileSystemStorageClient() if folder else MemoryStorageClient(),
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
        await context.push_data(
            {
                "url": context.request.loaded_url,
                "status": context.http_response.status_code,
                "title": context.selector.xpath("//title/text()").get(),
            }
        )
        await context.enqueue_links(strategy="same-hostname")

    await crawler.run([seed])
    with output.open("wb") as lines:
        async for page in (await crawler.get_dataset()).iterate_items():
            lines.write(msgspec.json.encode(page) + b"\n")


if __name__ == "__main__":
    logging.disable()
    seed, concurrency, output, *folder = sys.argv[1:]
    asyncio.run(crawl(seed, int(concurrency), Path(output), Path(folder[0]) if folder else None))
