import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from skitter.extract import tokens
from skitter.extract.html import Anchor, parse

#: Pages made to cost far more than they weigh.
BOMBS = {
    "nested": "b'<div>' * 1_000_000 + b'<a href=x>x</a>'",
    "nested lists": "b'<ul><li>' * 500_000 + b'<a href=x>x</a>'",
    "closed in vain": "b'<div>' * 200_000 + b'</p>' * 200_000 + b'<a href=x>x</a>'",
    "attributes": "b'<a ' + b' '.join(b'a%d' % i for i in range(1_000_000)) + b' href=x>x</a>'",
    "quoted attributes": """b'<a ' + b''.join(b'a%d=">"' % i for i in range(600_000))
        + b' href=x>x</a>'""",
    "slashed attributes": """b'<a' + b''.join(b'/a%d' % i for i in range(600_000))
        + b'/href=x >x</a>'""",
    "open formatting": "b''.join(b'<font a%d>' % i for i in range(300_000)) + b'<a href=x>x</a>'",
    "clones": """b'<p>' + b''.join(b'<b a%d>' % i for i in range(3_000)) + b'</p>'
        + b'<p>x</p>' * 4_000 + b'<a href=x>x</a>'""",
    "quoted clones": """b'<p>' + b''.join(b'<b a=">%d">' % i for i in range(3_000)) + b'</p>'
        + b'<p>x</p>' * 4_000 + b'<a href=x>x</a>'""",
    "links": "b'<a href=x>x</a>' + b''.join(b'<a href=%d>' % i for i in range(500_000))",
    "attributes of links": """b'<a href=x>x</a>' + (b'<a '
        + b' '.join(b'a%d' % i for i in range(130)) + b'>') * 10_000""",
    "nested anchors": """b'<a href=x>x</a><svg>'
        + b''.join(b'<a href=%d>' % i for i in range(4_000))
        + b'x' * 5_000_000""",
    "comments": "b'<a href=x>x</a>' + b'<!--' * 1_000_000",
    "quotes": """b'<a href=x>x</a>' + b'<a b="' * 800_000""",
    "raw text": "b'<a href=x>x</a>' + b'<title><script>' * 100_000",
    "less-than": "b'<a href=x>x</a>' + b'<' * 5_000_000",
    "tangled": "b'<a href=x>x</a>' + b'<i title=\">\">' * 200_000",
    "unending tags": "b'<a href=x>x</a>' + b'<a <a\\n' * 1_000_000",
    "unending scripts": "b'<a href=x>x</a>' + b'<script><script >' * 300_000",
    "drawings": "b'<a href=x>x</a><svg>' + b'<title>x</title>' * 100_000",
    "sections": "b'<a href=x>x</a><svg>' + b'<![CDATA[x]]>' * 100_000",
    "NUL": r"b'<a href=x>x</a>' + b'<\x00' * 2_000_000",
    "selected content": """b'<select><button>' + b'<selectedcontent>' * 3_000 + b'</button><option>'
        + b'<i>x</i>' * 2_000 + b'</select><a href=x>x</a>'""",
}

PROBE = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from skitter.extract.html import parse
page = parse({bomb})
print(dict(page.anchors).get("x"))
"""


@pytest.mark.parametrize("name", BOMBS)
def test_hostile_page_is_read_within_a_gigabyte_and_without_a_deep_stack(name: str) -> None:
    program = PROBE.format(bomb=BOMBS[name])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "x", "")


PAGES = [
    b"<title>a &amp; b</title><base href=/b/><a href='?a=1&amp;b=2'>x <b>y</b>\nz</a> tail",
    b"<!-- <a href=1> --><a href=2>x</a><!--> <a href=3>y</a> <!-- --!><a href=4>z</a>",
    b"<script>if (a<b) '<a href=1>'</script><style><a href=2></style><a href=3>x</a>",
    b"<div data-x=\"<a href='1'>\" y='>'><a href=2>x</a></div>",
    b"<A HREF=1>x</A><a\nhref\n=\n'2'>y</a><a/href=3 >z</a><a href=4/>w</a><a x=1href=5>v</a>",
    b"<a href=1>unclosed <a href=2>also <i>this",
    b"<area href=1><iframe src=2><a href=no></iframe><a href=3>x</a>",
    b"<iframe title='>' src=2><a href=no></iframe><a href=3>x</a>",
    b"<link rel=canonical href=/c><meta name=robots content=noindex><a href=1 rel=x>x</a>",
    b"<a href=1>x < y <3</a><a href=2>1</2><//></a><a href='3",
    b"<textarea><a href=1></textarea><title>t</title><a href=2>x</a><plaintext><a href=3>",
    b"<?php <a href=1> ?><!DOCTYPE html><![CDATA[<a href=2>]]><a href=3>x</a>",
    b"<svg><![CDATA[<a href=1>]]></svg><a href=2>x</a>",
    b"<a href=1 href=2 ==3 \"' x>y</a>",
    b"<a href=" + b"x" * 3000 + b" data-y='" + b"z" * 3000 + b"'>long</a>",
    b"<img alt='<script>'><a href=1>x</a></script><a href=2>y</a>",
    b"<img alt='<script>' x></script>y' z><a href=1>x</a>",
    b"<div <a href=1>x</a><a href=2>y</a>",
    b"<a title='<!--' href=1>x</a><a href=2>y</a>-->",
    b"<a href='#x'>x</a><a class=y href='/1#x'>y</a><a href=\" /2 \">z</a>",
    b"<a href=1><!-- no --><script>no</script>yes <img alt='>'></a>",
    b"<scripty><a href=1>x</a></scripty><styled ><a href=2>y</a>",
    b"<a href='/?a&lt=1&lt;&ltx&#65;&#x42&nosuch;&amp'>&ltx &copy &nosuch; &#8364;</a>",
]


def _in_a_tree(body: bytes) -> list[Anchor]:
    """The links as a tree builder finds them."""
    found: dict[str, str] = {}
    for node in LexborHTMLParser(body).css("a,area,frame,iframe,link[rel=canonical]"):
        written = node.attributes.get("src" if "frame" in (node.tag or "") else "href")
        href = (written or "").partition("#")[0].strip()
        if href:
            found.setdefault(href, " ".join(node.text().split())[:512] if node.tag == "a" else "")
    return list(found.items())


@pytest.mark.parametrize("body", PAGES)
def test_links_are_those_of_the_tree_that_browsers_build(body: bytes) -> None:
    if b"<script>no</script>" in body:
        # Browsers show no scripts, lexbor counts them as text.
        assert parse(body).anchors == [("1", "yes")]
    else:
        assert parse(body).anchors == _in_a_tree(body)


_TEXT = st.text("ab <&;\n'\"", max_size=8)
_ATTRIBUTE = st.sampled_from(
    ["id=x", "href='/1'", 'href="/2?a&b"', "href=/3", 'href="/4#x"', "hidden", "title='>'"]
)
_TAG = st.sampled_from(["a", "p", "b", "div", "area", "img", "br", "span", "li"])


@st.composite
def _elements(draw: st.DrawFn) -> str:
    tag = draw(_TAG)
    attributes = "".join(" " + attribute for attribute in draw(st.lists(_ATTRIBUTE, max_size=3)))
    text = draw(_TEXT).replace("<", "&lt;")
    return f"<{tag}{attributes}>{text}</{tag}>"


@given(st.lists(_elements(), max_size=20))
def test_links_of_any_simple_page_are_those_of_the_tree(elements: list[str]) -> None:
    body = "".join(elements).encode()
    assert parse(body).anchors == _in_a_tree(body)


_PIECE = st.sampled_from(
    [
        *("<a ", "<A ", "<a>", "</a>", "<area ", "<link ", "<p ", "<p>", "<iframe ", "</iframe>"),
        *("href=", "href='", 'href="', "/x", "#y", "?a=1&amp;b", '"', "'", ">", "<", "=", "/"),
        *("<!--", "-->", "<script>", "</script>", "<title>", "</title>", "<svg>", "</svg>"),
        *("<![CDATA[", "]]>", "<!", "<?", "</", "text", " ", "\n", "&lt;", "<plaintext>"),
    ]
)


@given(st.lists(_PIECE, max_size=40).map("".join))
def test_the_short_way_gives_what_the_exact_one_gives(markup: str) -> None:
    body = markup.encode()
    found = parse(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_TANGLED", re.compile(b""))
        exact = parse(body)
    assert found == exact


@given(st.binary(max_size=2_000))
def test_any_bytes_have_tags(body: bytes) -> None:
    list(tokens.tags(body))
