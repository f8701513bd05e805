"""What libcurl is told about a proxy, and what it tells about whose fault a failure was."""

import pycurl

from skitter.fetch.proxies import Proxy

__all__ = ["blame_of", "set_proxy"]

#: Not named by the binding: keeps the proxy's answer to CONNECT out of the response's headers.
_SUPPRESS_CONNECT_HEADERS = 265
#: Numbers of libcurl's CURLPX_… for what a SOCKS proxy says about the target, or we about its name.
_OF_THE_TARGET = frozenset({9, *range(17, 26), 27})
_COULD_NOT_RESOLVE_PROXY, _COULD_NOT_CONNECT, _PROXY_HANDSHAKE, _TIMED_OUT = 5, 7, 97, 28


def set_proxy(curl: pycurl.Curl, proxy: Proxy | None, ca_file: str | None) -> None:
    """Send what follows through a proxy, or straight."""
    set_ = curl.setopt
    # An empty proxy makes libcurl ignore those of the environment.
    set_(pycurl.PROXY, proxy.url if proxy else "")
    # Both stay set until they are unset: a proxy must not get the credentials of another.
    curl.unsetopt(pycurl.PROXYUSERNAME)
    curl.unsetopt(pycurl.PROXYPASSWORD)
    if proxy is None:
        return
    set_(_SUPPRESS_CONNECT_HEADERS, 1)
    # Without this libcurl would introduce itself to the proxy by its own name.
    set_(pycurl.PROXYHEADER, ["User-Agent:"])
    if proxy.username or proxy.password:
        # As bytes: the binding takes only ASCII for text.
        set_(pycurl.PROXYUSERNAME, proxy.username.encode())
        set_(pycurl.PROXYPASSWORD, proxy.password.encode())
    if ca_file is not None:
        set_(pycurl.PROXY_CAINFO, ca_file)


def blame_of(curl: pycurl.Curl, proxy: Proxy, code: int, *, sent: bool, message: str) -> str | None:
    """Why a transfer's end is the proxy's doing; None: it is the site's, or nobody knows.

    A reset or silence once the request had left may be either's, and so may silence in the middle
    of a tunnel's opening: the site is asked again by its own ladder.
    """
    info = curl.getinfo
    if 407 in {info(pycurl.RESPONSE_CODE), info(pycurl.HTTP_CONNECTCODE)}:
        return "it does not accept our credentials (407)"
    if code == 0 or sent:
        return None
    said = "it cannot be reached" if code == _COULD_NOT_CONNECT else message
    if code in {_COULD_NOT_RESOLVE_PROXY, _TIMED_OUT}:
        return None if info(pycurl.CONNECT_TIME) else said
    if proxy.scheme.startswith("socks"):
        is_its_own = info(pycurl.PROXY_ERROR) not in _OF_THE_TARGET
        return said if code in {_COULD_NOT_CONNECT, _PROXY_HANDSHAKE} and is_its_own else None
    # Once it has answered CONNECT, with whatever code, what is wrong is beyond it.
    return None if info(pycurl.HTTP_CONNECTCODE) else said
