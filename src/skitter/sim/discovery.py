"""robots.txt and sitemaps of the simulated web."""

import gzip

from skitter.sim.graph import Graph, Spot

__all__ = ["NAMED_BY_ROBOTS", "Discovery"]

#: Ordinary pages that sitemaps repeat; the orphans are what they are for.
_LISTED_PAGES = 1000

#: Not in the index at /sitemap.xml: only robots.txt leads there.
NAMED_BY_ROBOTS = "/maps/news.xml"

_FILES = ("/maps/pages.xml", "/maps/orphans.xml.gz")
_SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


class Discovery:
    """Bodies, and the URLs they name."""

    def __init__(self, graph: Graph, origins: list[str]) -> None:
        self._graph = graph
        self._origins = origins

    def robots(self, host: int) -> tuple[bytes, tuple[str, ...]]:
        """The file, and the sitemaps it names."""
        options = self._graph.options
        lines = ["User-agent: *"]
        if options.robots_rate:
            lines += ["Disallow: /private/", "Allow: /private/open/"]
        else:
            lines.append("Disallow:")
        if options.crawl_delay_s:
            lines.append(f"Crawl-delay: {options.crawl_delay_s:g}")
        sitemaps: tuple[str, ...] = ()
        if options.sitemaps:
            origin = self._origins[host]
            sitemaps = (f"{origin}/sitemap.xml", origin + NAMED_BY_ROBOTS)
        lines += [f"Sitemap: {url}" for url in sitemaps]
        return "\n".join([*lines, ""]).encode(), sitemaps

    def sitemap(self, here: Spot) -> tuple[bytes, tuple[str, ...]] | None:
        """The file, and the pages or sitemaps it names. None: there is no such file."""
        if not self._graph.options.sitemaps:
            return None
        if here.target == "/sitemap.xml":
            return self._write("sitemapindex", "sitemap", here.host, list(_FILES))
        targets = self._entries(here)
        if targets is None:
            return None
        body, urls = self._write("urlset", "url", here.host, targets)
        # mtime=0: the same bytes at any time.
        return (gzip.compress(body, mtime=0) if here.target.endswith(".gz") else body), urls

    def _entries(self, here: Spot) -> list[str] | None:
        graph, host = self._graph, here.host
        orphans = graph.orphans()
        half = orphans // 2
        if here.target == "/maps/pages.xml":
            listed = min(_LISTED_PAGES, graph.options.pages)
            return [graph.page_target(host, n) for n in range(listed)]
        if here.target == "/maps/orphans.xml.gz":
            return [f"/orphan/{n}" for n in range(half)]
        if here.target == NAMED_BY_ROBOTS:
            return [f"/orphan/{n}" for n in range(half, orphans)]
        return None

    def _write(
        self, root: str, item: str, host: int, targets: list[str]
    ) -> tuple[bytes, tuple[str, ...]]:
        urls = tuple(self._origins[host] + target for target in targets)
        escaped = (url.replace("&", "&amp;") for url in urls)
        items = "".join(f"<{item}><loc>{url}</loc></{item}>\n" for url in escaped)
        return f"{_DECLARATION}<{root} {_SPACE}>\n{items}</{root}>\n".encode(), urls
