"""WARC: the stored records as they are, after a `warcinfo` of the file's own."""

from typing import BinaryIO

from xxhash import xxh3_128_hexdigest

from skitter.catalog.base import Page
from skitter.clock import timestamp
from skitter.config.product import PRODUCT, VERSION
from skitter.outputs.base import Source
from skitter.store.base import StoredPage
from skitter.store.warc import encode_info, encode_page

__all__ = ["write_warc"]


async def write_warc(file: BinaryIO, source: Source) -> int:
    """Copy every page's gzip member, without unpacking it; returns how many."""
    now = timestamp(source.clock.time())
    info_id: str = xxh3_128_hexdigest(f"{source.job}/{now}/{file.name}".encode())
    file.write(encode_info(info_id, now, f"{PRODUCT}/{VERSION}"))
    count = 0
    async for page in source.rows():
        if page.location is not None:
            file.write(await source.store.copy(page.location))
        else:
            file.write(encode_page(_unstored(page)))
        count += 1
    return count


def _unstored(page: Page) -> StoredPage:
    """What never came near the store, such as a dropped request: a `metadata` record."""
    head = page.head
    return StoredPage(record_id=head.id, url=head.url, timestamp=head.timestamp, fields=page.line)
