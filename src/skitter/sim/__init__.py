"""The simulated web: deterministic, fast, and with the truth to compare a crawl with."""

from skitter.sim.accesslog import Access
from skitter.sim.options import EVERYTHING, SimOptions
from skitter.sim.page import PageKind, SimPage
from skitter.sim.server import SimServer
from skitter.sim.site import SimWeb
from skitter.sim.truth import Crawl, Truth, truth, write_manifest

__all__ = [
    "EVERYTHING",
    "Access",
    "Crawl",
    "PageKind",
    "SimOptions",
    "SimPage",
    "SimServer",
    "SimWeb",
    "Truth",
    "truth",
    "write_manifest",
]
