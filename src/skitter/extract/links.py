"""From what a page says to URLs that can be crawled."""

import re
from collections.abc import Iterable

from skitter.errors import InvalidURLError
from skitter.extract.html import Anchor
from skitter.urls.normalize import normalize, origin_of

__all__ = ["LinkResolver", "document_base"]

#: Room for some 65,000 typical links.
MAX_MEMO_BYTES = 16 * 1024 * 1024
#: What an entry costs beside the characters of its two strings: their headers, its place.
_ENTRY_BYTES = 150
#: A longer `<base href>` is not used: every link of the page would be as long.
_MAX_BASE_CHARS = 2_048

_Memo = dict[str, str | None]


def document_base(page_url: str, base_href: str | None) -> str:
    """What the links of a page are relative to: its `<base href>`, if there is a usable one."""
    if not base_href or len(base_href) > _MAX_BASE_CHARS:
        return page_url
    try:
        return normalize(base_href, page_url)
    except InvalidURLError:
        return page_url


class LinkResolver:
    """Resolves hrefs, remembering those that pages of a site repeat.

    The memo never changes a result, because its key holds all of the base that the result can
    depend on (URL standard, 4.4): nothing for `http://…`, the origin for `/…`, the directory for
    other paths. What may depend on more is not remembered: `?…` (the base's whole path) and any
    other colon (`http:x` is relative to a base of the same scheme). A backslash is a slash and
    tabs vanish inside a URL; neither can turn one of the remembered forms into one that depends
    on more, as all three begin with a character that stays.
    """

    def __init__(self, max_memo_bytes: int = MAX_MEMO_BYTES) -> None:
        #: Links that are no http or https URL.
        self.invalid = 0
        self._max_memo_bytes = max_memo_bytes
        self._memo_bytes = 0
        self._absolute: _Memo = {}
        self._by_prefix: dict[str, _Memo] = {}

    def resolve(self, base_url: str, anchors: Iterable[Anchor]) -> list[Anchor]:
        """(normalised URL, text) of each anchor in order, each URL once: its first text stays.

        `base_url` is normalised, as `document_base` gives it. Links that cannot be resolved are
        left out and counted in `invalid`.
        """
        origin = origin_of(base_url)
        of_directory = self._memo(base_url.partition("?")[0].rpartition("/")[0] + "/")
        of_origin = self._memo(origin)
        resolved: dict[str, str] = {}
        for raw, text in anchors:
            href = raw.partition("#")[0] if "#" in raw else raw
            if ":" in href or href[:1] in _UNREMEMBERED:
                memo = self._absolute if href.startswith(("http://", "https://")) else None
            else:
                memo = of_origin if href[0] == "/" else of_directory
            url = self._join(href, base_url) if memo is None else memo.get(href, "")
            if url == "" and memo is not None:
                url = memo[href] = self._join(href, base_url)
                self._memo_bytes += len(href) + len(url or "") + _ENTRY_BYTES
            if url is None:
                self.invalid += 1
            elif url not in resolved:
                resolved[url] = text
        self._forget_when_full()
        return list(resolved.items())

    def _memo(self, prefix: str) -> _Memo:
        memo = self._by_prefix.get(prefix)
        if memo is None:
            memo = self._by_prefix[prefix] = {}
            self._memo_bytes += len(prefix) + 2 * _ENTRY_BYTES
        return memo

    def _forget_when_full(self) -> None:
        # All at once: the hot hrefs are back after a page or two, and no order has to be kept.
        if self._memo_bytes >= self._max_memo_bytes:
            self._absolute.clear()
            self._by_prefix.clear()
            self._memo_bytes = 0

    @staticmethod
    def _join(href: str, base_url: str) -> str | None:
        if _PLAIN_PATH.match(href):
            return _join_plain(href, base_url)
        try:
            return normalize(href, base_url)
        except InvalidURLError:
            return None


#: First characters of hrefs that take more than the directory from the base. Space and control
#: characters are stripped by the URL parser, so what follows them is not known here.
_UNREMEMBERED = frozenset(["", "?", *map(chr, range(33))])

#: Relative paths of which the URL parser changes nothing but leading `../`: a quarter of its cost.
_PLAIN_PATH = re.compile(r"(?:\.\./)*+(?:[\w~-][\w.~-]*+/)*+[\w~-][\w.~-]*+\Z", re.ASCII)


def _join_plain(href: str, base_url: str) -> str:
    """What `normalize` makes of a plain path: the base's folder, less one level per `../`."""
    folder = base_url.partition("?")[0].rpartition("/")[0]
    root_length = base_url.index("/", 8)
    while href.startswith("../"):
        href = href[3:]
        if len(folder) > root_length:
            folder = folder.rpartition("/")[0]
    return f"{folder}/{href}"
