import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.extract.charset import decode, detect
from skitter.extract.labels import CODECS, canonical_name

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 8
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。" * 8


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("UTF8", "utf-8"),
        (" utf-8\n", "utf-8"),
        ("iso-8859-1", "windows-1252"),
        ("latin1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("ISO-8859-9", "windows-1254"),
        ("gb2312", "gbk"),
        ("x-sjis", "shift_jis"),
        ("windows-31j", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("big5-hkscs", "big5"),
        ("tis-620", "windows-874"),
        ("utf-16", "utf-16le"),
        ("unicode", "utf-16le"),
        ("iso_8859-7:1987", "iso-8859-7"),
        ("koi8-ru", "koi8-u"),
        ("utf-7", None),
        ("iso-2022-kr", None),
        ("", None),
        ("x" * 1000, None),
    ],
)
def test_labels(label: str, name: str | None) -> None:
    assert canonical_name(label) == name


@pytest.mark.parametrize("name", CODECS)
def test_every_name_is_its_own_label_and_has_a_codec(name: str) -> None:
    assert canonical_name(name) == name
    assert codecs.lookup(CODECS[name])
    assert decode("abc".encode(CODECS[name]), name) == "abc"


@pytest.mark.parametrize(
    ("body", "content_type", "name"),
    [
        (b"\xef\xbb\xbfx", "text/html; charset=koi8-r", "utf-8"),
        (b"\xff\xfex\x00", "text/html; charset=utf-8", "utf-16le"),
        (b"\xfe\xff\x00x", None, "utf-16be"),
        (b"<meta charset=koi8-r>", "text/html; charset=windows-1251", "windows-1251"),
        (b"x", 'text/html;Charset = "GB2312"', "gbk"),
        (b"x", "text/html; charset='utf-8'", "utf-8"),
        (b"x", "text/html; charset=euc-jp; x=y", "euc-jp"),
        (b"<meta charset=koi8-r>", "text/html; charset=nonsense", "koi8-r"),
        (b"<meta charset=koi8-r>", "text/html; charset=", "koi8-r"),
        (b"<META CharSet = 'KOI8-R' >", None, "koi8-r"),
        (b"<meta/charset=koi8-r/>", None, "koi8-r"),
        (b'<meta http-equiv=content-type content="text/html; charset=big5">', None, "big5"),
        (b"<meta content='text/html;charset=big5'>", None, "big5"),
        (b"<!-- <meta charset=big5> --><meta charset=koi8-r>", None, "koi8-r"),
        (b"<meta charset=nonsense><meta charset=koi8-r>", None, "koi8-r"),
        (b"<meta charset=utf-16>", None, "utf-8"),
        (b"<meta name=x content=charset><p>charset=big5", None, "utf-8"),
        (b" " * 1024 + b"<meta charset=koi8-r>", None, "utf-8"),
        (b'<?xml version="1.0" encoding="ISO-8859-2"?><x/>', None, "iso-8859-2"),
        (b"<?xml version='1.0' encoding='utf-16'?>", None, "utf-8"),
        (b"", None, "utf-8"),
        ("é".encode(), None, "utf-8"),
        ("é".encode()[:1], None, "utf-8"),
    ],
)
def test_detection(body: bytes, content_type: str | None, name: str) -> None:
    assert detect(body, content_type) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (RUSSIAN, "windows-1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "shift_jis"),
        ("我是一只猫。还没有名字。今天天气很好。我们去公园玩。", "gbk"),
        ("我是一隻貓。還沒有名字。今天天氣很好。我們去公園玩。", "big5"),
        ("나는 고양이다. 이름은 아직 없다. 오늘 날씨가 좋다. ", "euc-kr"),
        ("Ça est déjà en été, où êtes-vous ? Je vous écris de la forêt. ", "windows-1252"),
        ("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. ", "windows-1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy. Dnes je hezky. ", "windows-1250"),
        ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Σήμερα είναι καλά. ", "windows-1253"),
        ("نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. ", "windows-1256"),
    ],
)
def test_guess(text: str, name: str) -> None:
    body = f"<p class='x'>{text * 6}</p>".encode(CODECS[name])
    assert detect(body, "text/html") == name


def test_text_far_down_a_page_is_what_counts() -> None:
    page = b"<script>" + b"x = 1; " * 5_000 + b"</script><p>" + RUSSIAN.encode("cp1251")
    assert detect(page) == "windows-1251"


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        (b"\x93x\x94", "iso-8859-1", "“x”"),
        (b"a\xff", "utf-8", "a\ufffd"),
        (b"\xef\xbb\xbfa", "utf-8", "a"),
        (b"\xff\xfea\x00b", "utf-16le", "a\ufffd"),
        (b"\x93", "no such charset", "“"),
        (b"\x81\x30\x81\x30", "gb2312", "\x80"),
    ],
)
def test_decoding_never_fails(body: bytes, charset: str, text: str) -> None:
    assert decode(body, charset) == text


@given(st.binary(max_size=600), st.none() | st.text(max_size=40))
def test_any_body_has_a_charset_that_decodes_it(body: bytes, content_type: str | None) -> None:
    name = detect(body, content_type)
    assert name in CODECS
    decode(body, name).encode()


@given(st.sampled_from(sorted(CODECS)), st.binary(max_size=200))
def test_any_bytes_decode_in_any_charset(name: str, body: bytes) -> None:
    decode(body, name).encode()
