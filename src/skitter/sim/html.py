"""Pages as bytes: links, sometimes written oddly, and text to the ordered size."""

from xxhash import xxh3_64_intdigest

from skitter.sim.charsets import PLAIN, Charset
from skitter.sim.graph import Graph, Spot

__all__ = ["Html"]

_WORDS = (
    "spider web thread branch morning dew corner silk anchor frame spiral wait tremble catch "
    "wind garden wall window light shadow leaf stone river meadow quiet patient eight careful "
    "weave mend break begin again over under between across toward never always often once"
)

#: Long enough that pages are cut from different places of it.
_PROSE_BYTES = 1 << 17


class Html:
    """Renders pages of one web; `origins` gives scheme, host and port of a host's number."""

    def __init__(self, graph: Graph, origins: list[str]) -> None:
        self._graph = graph
        self._dice = graph.dice
        self._origins = origins
        self._prose = self._write_prose()

    def page(self, here: Spot, title: str, links: list[Spot], charset: Charset = PLAIN) -> bytes:
        """A page of about the ordered size; never cut, so never smaller than its links."""
        key = xxh3_64_intdigest(here.target.encode())
        items = "".join(
            f'<li><a href="{self._href(here, link, n, key)}">link {n}</a></li>\n'
            for n, link in enumerate(links)
        )
        head = (
            f"<!doctype html>\n<html><head>{charset.meta}<title>{title}</title></head>\n"
            f"<body><h1>{title}</h1>\n<ul>\n{items}</ul>\n<p>"
        )
        tail = "</p>\n</body></html>\n"
        room = self._size(here, key) - len(head) - len(tail)
        return charset.encode(head + self._text(charset, room, key) + tail)

    def _size(self, here: Spot, key: int) -> int:
        options = self._graph.options
        swing = 2 * self._dice.share("size", here.host, key) - 1
        return int(options.body_bytes * (1 + options.body_spread * swing))

    def _text(self, charset: Charset, room: int, key: int) -> str:
        sentence = charset.sample[1]
        if sentence:
            return sentence * (1 + max(0, room) // len(sentence.encode(charset.codec)))
        start = key * 7919 % _PROSE_BYTES
        text = self._prose[start : start + max(0, room)]
        while len(text) < room:
            text += self._prose[: room - len(text)]
        return text

    def _href(self, here: Spot, link: Spot, position: int, key: int) -> str:
        options = self._graph.options
        plain = link.target if link.host == here.host else self._origins[link.host] + link.target
        if options.messy_rate:
            number = self._dice.number(f"href {position}", here.host, key)
            if (number >> 32) / 2**32 < options.messy_rate:
                return self._messy(here, link, number).replace("&", "&amp;")
        return plain.replace("&", "&amp;")

    def _messy(self, here: Spot, link: Spot, choice: int) -> str:
        origin, target = self._origins[link.host], link.target
        forms = [
            origin.replace("http://site", "HTTP://SiTe") + target,
            f"{origin}{target}#part-{len(target)}",
            f" \n{origin}{target}\t",
            origin.removeprefix("http:") + target,
            f"{origin}/a/./b/../..{target}",
            origin + _reordered(target),
        ]
        if link.host == here.host:
            relative = _relative(here.target, target)
            forms += [relative, f'{target}">twice</a> <a href="{relative}#again']
        return forms[choice % len(forms)]

    def _write_prose(self) -> str:
        vocabulary = _WORDS.split()
        words: list[str] = []
        size = 0
        while size < _PROSE_BYTES:
            word = vocabulary[self._dice.number("word", 0, len(words)) % len(vocabulary)]
            words.append(word)
            size += len(word) + 1
        return " ".join(words)


def _relative(base: str, target: str) -> str:
    """Up to the root and down again; an empty path would mean the page itself."""
    ups = base.partition("?")[0].count("/") - 1
    return "../" * ups + target[1:] if ups else "." + target


def _reordered(target: str) -> str:
    path, mark, query = target.partition("?")
    return path + mark + "&".join(reversed(query.split("&")))
