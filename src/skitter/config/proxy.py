"""The settings of proxies."""

from typing import Annotated

from msgspec import Meta, Struct

__all__ = ["Proxy"]


class Proxy(Struct, frozen=True, kw_only=True):
    """Proxies between us and the sites. With any of them nothing goes straight to a site."""

    urls: Annotated[
        tuple[str, ...],
        Meta(
            description="`http://user:password@host:port`; or https, socks5 (we resolve names), "
            "socks5h (the proxy does). Proxies of the environment (`http_proxy`) are ignored."
        ),
    ] = ()
    file: Annotated[
        str, Meta(description="A file with more of them, one on each line; `#` begins a comment.")
    ] = ""
    max_failures: Annotated[
        int,
        Meta(ge=1, description="Failures in a row to connect or log in, then a proxy rests."),
    ] = 3
    rest_s: Annotated[
        float, Meta(gt=0, description="Its first rest. Each further one is twice as long,")
    ] = 10.0
    max_rest_s: Annotated[float, Meta(gt=0, description="up to this.")] = 600.0
    resolves_names: Annotated[
        bool,
        Meta(
            description="true: names that cannot be resolved here are left to the proxy, which is "
            "trusted to keep out of private networks; not with socks5. false: they fail (`dns`)."
        ),
    ] = False
