"""What a crawl leaves undone for want of something, in words."""

from skitter.models import Strain

__all__ = ["strained"]

_LEFT_UNDONE = (
    "",
    "jobs of low priority wait",
    "bodies are not kept",
    "jobs that follow links wait",
    "nothing new is fetched",
)


def strained(strain: Strain) -> str:
    """`degraded, step 2 of 4: bodies are not kept (disk: 270 MB free)`."""
    steps = len(_LEFT_UNDONE) - 1
    return f"degraded, step {strain.step} of {steps}: {_LEFT_UNDONE[strain.step]} ({strain.cause})"
