"""Ways in which a site can try to send a crawler elsewhere, and settings that forbid elsewhere."""

import json

from support.crawls import QUICK_RETRIES, QUICK_ROBOTS
from support.fetching import ALLOWED, FORBIDDEN
from support.origin import Reply, page, redirect, reply

#: The crawl of such a site: every link counts, whatever host it names.
ANYWHERE = ("--scope", "any", "--delay", "0", "--workers", "1", "--json", "--data", "data")


def networks(*allowed: str) -> dict[str, str]:
    """Settings under which only these private networks may be reached."""
    return {
        "SKITTER_SECURITY__ALLOW_NETWORKS": json.dumps(allowed or [ALLOWED]),
        **QUICK_RETRIES,
        **QUICK_ROBOTS,
    }


#: `FORBIDDEN`, 127.0.2.1, as a browser reads it from what a page says. `%` is the port.
SPELLINGS = {
    "plain": "http://127.0.2.1:%/plain",
    "number": "http://2130706945:%/number",
    "hex-number": "http://0x7f000201:%/hex-number",
    "hex-parts": "http://0x7f.0x0.0x2.0x1:%/hex-parts",
    "octal": "http://0177.0.2.01:%/octal",
    "short": "http://127.513:%/short",
    "dot": "http://127.0.2.1.:%/dot",
    "percent": "http://%31%32%37.0.2.1:%/percent",
    "enclosed": "http://①②⑦.⓪.②.①:%/enclosed",
    "full-width": "http://\uff11\uff12\uff17\u3002\uff10\u3002\uff12\u3002\uff11:%/full-width",
    "user-info": "http://127.0.1.1:80@127.0.2.1:%/user-info",
    "double-at": "http://127.0.1.1@127.0.1.1@127.0.2.1:%/double-at",
    "backslash": "http:\\\\127.0.2.1:%\\backslash",
    "backslash-at": "http://127.0.2.1:%\\@127.0.1.1/backslash-at",
    "no-scheme": "//127.0.2.1:%/no-scheme",
    "slashes": "http:////127.0.2.1:%/slashes",
    "broken": "http://127.0.\n2.1:%/bro\tken",
    "mapped": "http://[::ffff:127.0.2.1]:%/mapped",
    "mapped-hex": "http://[::ffff:7f00:201]:%/mapped-hex",
}

#: Addresses behind which something private may be; no network of a test reaches most of them.
PRIVATE = (
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1"),
    *("192.0.0.8", "192.168.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"),
    *("[::]", "[::1]", "[::127.0.2.1]", "[64:ff9b::127.0.2.1]", "[64:ff9b:1::127.0.2.1]"),
    *("[2002:7f00:201::]", "[2001:0:7f00:201::]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]"),
    *("[fec0::1]", "[ff02::1]", "[::ffff:169.254.169.254]", "localhost", "a.localhost"),
)


def spelled(port: int) -> dict[str, str]:
    """The spellings with a port."""
    return {name: url.replace(":%", f":{port}") for name, url in SPELLINGS.items()}


def ways(port: int) -> dict[str, Reply]:
    """Pages of a site that each lead to `/NAME` at the forbidden address in a way of their own."""
    door = f"http://{FORBIDDEN}:{port}"
    return {
        "/moved": redirect(f"{door}/moved"),
        "/hop": redirect("/hop/2"),
        "/hop/2": redirect("/hop/3", "307 Temporary Redirect"),
        "/hop/3": redirect(f"{door}/hop", "308 Permanent Redirect"),
        "/tricky": reply(b"", "302 Found", Location=f"//{FORBIDDEN}:{port}/tricky"),
        "/refresh": reply(f'<meta http-equiv=refresh content="0; url={door}/refresh">'),
        "/based": reply(f'<base href="{door}/"><a href="based">x</a>'),
        "/frame": reply(f'<iframe src="{door}/frame"></iframe>'),
        "/canonical": reply(f'<link rel=canonical href="{door}/canonical">'),
        "/area": reply(f'<map><area href="{door}/area"></map>'),
    }


#: What `ways` leads to.
WAYS = {"moved", "hop", "tricky", "refresh", "based", "frame", "canonical", "area"}


def start_page(port: int) -> bytes:
    """A page with all spellings and all ways."""
    return page(*ways(port), *spelled(port).values())
