"""Changes of the embedded frontier: each one transaction, and none after one has failed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from skitter.errors import UsageError
from skitter.sqlite import Database

__all__ = ["Changes"]


class Changes:
    """Guards memory against drifting from the storage it was read from."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._broken: BaseException | None = None

    @asynccontextmanager
    async def change(self, *, durable: bool = True) -> AsyncIterator[None]:
        """Inside, memory and storage are changed alike; a failure is final."""
        if self._broken is not None:
            raise self._broken
        try:
            async with self._db.transaction(durable=durable):
                yield
        except (UsageError, asyncio.CancelledError):
            # Raised before anything was changed, or after all of it was committed.
            raise
        except BaseException as error:
            self._broken = error
            raise
