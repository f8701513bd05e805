"""Reproducible chance: the same question has the same answer, in any order and process."""

from xxhash import xxh3_64_intdigest

__all__ = ["Dice"]


class Dice:
    """Answers depend on the seed and the question alone, never on what was asked before."""

    __slots__ = ("_seed",)

    def __init__(self, seed: int) -> None:
        self._seed = seed & 0xFFFF_FFFF_FFFF_FFFF

    def number(self, what: str, host: int, index: int) -> int:
        """64 even bits."""
        return xxh3_64_intdigest(b"%b:%d:%d" % (what.encode(), host, index), self._seed)

    def share(self, what: str, host: int, index: int) -> float:
        """Even in [0, 1)."""
        return self.number(what, host, index) / 2**64
