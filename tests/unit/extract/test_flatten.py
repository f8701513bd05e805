import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.extract import html
from skitter.extract.flatten import flatten
from skitter.extract.weight import is_heavy

#: Pages made to cost far more than they weigh, or to break the scan that guards against them.
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
    "raw text": "b'<a href=x>x</a>' + b'<title><script>' * 400_000",
    "less-than": "b'<a href=x>x</a>' + b'<' * 5_000_000",
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


def test_ordinary_pages_are_not_heavy() -> None:
    row = b'<tr class="x"><td><code>name</code></td><td><a href="/x/%d">some words</a></td></tr>\n'
    assert not is_heavy(b"".join(row % number for number in range(600)))
    assert not is_heavy(b"<p>" + b"long words " * 10_000)


def _flat(body: bytes) -> html.Page:
    return html.parse(flatten(body))


@pytest.mark.parametrize(
    "body",
    [
        b"<title>a &amp; b</title><base href=/b/><a href='?a=1&amp;b=2'>x <b>y</b>\nz</a> tail",
        b"<!-- <a href=1> --><a href=2>x</a><!--> <a href=3>y</a> <!-- --!><a href=4>z</a>",
        b"<script>if (a<b) '<a href=1>'</script><style><a href=2></style><a href=3>x</a>",
        b"<div data-x=\"<a href='1'>\" y='>'><a href=2>x</a></div>",
        b"<A HREF=1>x</A><a\nhref\n=\n'2'>y</a><a/href=3 >z</a><a href=4/>w</a><a x=1href=5>v</a>",
        b"<a href=1>unclosed <a href=2>also <i>this",
        b"<area href=1><iframe src=2><a href=no></iframe><a href=3>x</a>",
        b"<link rel=canonical href=/c><meta name=robots content=noindex><a href=1 rel=x>x</a>",
        b"<a href=1>x < y <3</a><a href=2>1</2><//></a><a href='3",
        b"<textarea><a href=1></textarea><title>t</title><a href=2>x</a><plaintext><a href=3>",
        b"<?php <a href=1> ?><!DOCTYPE html><![CDATA[<a href=2>]]><a href=3>x</a>",
        b"<a href=1 href=2 ==3 \"' x>y</a>",
        b"<a href=" + b"x" * 3000 + b" data-y='" + b"z" * 3000 + b"'>long</a>",
    ],
)
def test_flat_page_says_the_same(body: bytes) -> None:
    assert _flat(body) == html.parse(body)


def test_frames_outlive_their_frameset() -> None:
    assert _flat(b"<frameset><frame src=1><frame src=2></frameset>").anchors == [
        ("1", ""),
        ("2", ""),
    ]


def test_attributes_that_matter_outlive_a_crowd_of_others() -> None:
    crowd = b" ".join(b"a%d=1" % number for number in range(1_000))
    flat = flatten(b"<a " + crowd + b" HREF='x' href=y rel=nofollow>t</a>")
    assert len(flat) < 200
    assert html.parse(flat).anchors == [("x", "t")]


def test_no_more_tags_than_allowed() -> None:
    assert flatten(b"<a href=1>" * 10, max_tags=3).count(b"<a ") == 3


_TEXT = st.text("ab <&;\n'\"", max_size=8)
_ATTRIBUTE = st.sampled_from(
    ["id=x", "href='/1'", 'href="/2?a&b"', "href=/3", "hidden", "title='>'"]
)
_TAG = st.sampled_from(["a", "p", "b", "div", "area", "img", "br", "span", "li"])


@st.composite
def _elements(draw: st.DrawFn) -> str:
    tag = draw(_TAG)
    attributes = "".join(" " + attribute for attribute in draw(st.lists(_ATTRIBUTE, max_size=3)))
    text = draw(_TEXT).replace("<", "&lt;")
    return f"<{tag}{attributes}>{text}</{tag}>"


@given(st.lists(_elements(), max_size=20))
def test_flat_page_says_the_same_of_any_simple_page(elements: list[str]) -> None:
    body = "".join(elements).encode()
    assert _flat(body) == html.parse(body)


@given(st.binary(max_size=2_000))
def test_any_bytes_can_be_flattened(body: bytes) -> None:
    is_heavy(body)
    flatten(body)
