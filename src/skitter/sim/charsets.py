"""The encodings of the simulated web, and the ways a page says which one it is in."""

import codecs

from msgspec import Struct

__all__ = ["CHARSETS", "PLAIN", "Charset"]


class Charset(Struct, frozen=True, kw_only=True):
    """How a page is encoded and declared. Where header and meta differ the header is right."""

    codec: str
    #: The first word of the title, so that a title read in the wrong encoding is a wrong
    #: title; and a sentence to fill the page with.
    sample: tuple[str, str]
    header: str | None = None
    meta: str = ""
    bom: bytes = b""

    @property
    def content_type(self) -> str:
        """The header's value."""
        return f"text/html; charset={self.header}" if self.header else "text/html"

    def encode(self, html: str) -> bytes:
        """The body's bytes."""
        return self.bom + html.encode(self.codec)


PLAIN = Charset(codec="ascii", header="utf-8", sample=("Page", ""))

_RUSSIAN = ("Страница", "Паук плетёт сеть от ветки к ветке и ждёт, пока нить дрогнет. ")
_JAPANESE = ("ページ", "蜘蛛は枝から枝へ糸を張り、網が震えるのを静かに待っている。")
_CHINESE = ("网页", "蜘蛛在树枝之间结网、静静地等待丝线颤动的那一刻。")
_FRENCH = (
    "Deuxième étape",
    "L'araignée tisse sa toile entre deux chênes, à l'abri du vent d'été. ",
)
_GREEK = ("Σελίδα", "Σήμερα αράχνη υφαίνει τον ιστό της και περιμένει υπομονετικά. ")

_HTTP_EQUIV = '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">'

CHARSETS = (
    Charset(codec="utf-8", header="utf-8", sample=_GREEK),
    Charset(codec="utf-8", header="UTF-8", meta='<meta charset="utf-8">', sample=_JAPANESE),
    Charset(codec="utf-8", meta='<meta charset="utf-8">', sample=_RUSSIAN),
    Charset(codec="utf-8", meta=_HTTP_EQUIV, sample=_CHINESE),
    Charset(codec="utf-8", bom=codecs.BOM_UTF8, sample=_FRENCH),
    Charset(codec="utf-8", sample=_RUSSIAN),
    Charset(codec="utf-16-le", bom=codecs.BOM_UTF16_LE, sample=_GREEK),
    Charset(codec="cp1251", header="windows-1251", sample=_RUSSIAN),
    Charset(codec="cp1251", header="windows-1251", meta='<meta charset="utf-8">', sample=_RUSSIAN),
    Charset(codec="koi8-r", meta='<meta charset="koi8-r">', sample=_RUSSIAN),
    Charset(codec="shift_jis", header="Shift_JIS", sample=_JAPANESE),
    Charset(codec="euc_jp", meta='<meta charset="euc-jp">', sample=_JAPANESE),
    Charset(codec="gb18030", header="gb18030", sample=_CHINESE),
    Charset(codec="gbk", meta='<meta charset="gbk">', sample=_CHINESE),
    Charset(codec="latin-1", header="ISO-8859-1", sample=_FRENCH),
    Charset(codec="iso8859-7", meta='<meta charset="iso-8859-7">', sample=_GREEK),
)
