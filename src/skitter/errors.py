"""The whole error tree.

SkitterError                 anything we raise on purpose; its message is advice for the reader
├── UsageError               bad flag, file or value                                  (exit 2)
│   ├── ConfigError          skitter.toml or an environment variable is wrong
│   ├── InvalidURLError      not a URL we crawl
│   └── JobChangedError      a job of that name exists with other job-defining settings
├── DataFolderError          the data folder cannot be used as it is                  (exit 2)
│   ├── DataFolderBusyError      another run holds it
│   ├── DataFolderNewerError     written by a newer version
│   └── DataFolderDamagedError   a file in it cannot be read
├── MissingExtraError        a feature needs a package that is not installed          (exit 2)
├── StorageFullError         no room left; the crawl can be resumed                   (exit 3)
└── BackendError             a frontier, store, catalog or fetch backend failed       (exit 1)

The web's own failures (refused, timed out, 404 …) are never exceptions: they are
outcomes, see `skitter.models`.
"""

__all__ = [
    "BackendError",
    "ConfigError",
    "DataFolderBusyError",
    "DataFolderDamagedError",
    "DataFolderError",
    "DataFolderNewerError",
    "InvalidURLError",
    "JobChangedError",
    "MissingExtraError",
    "SkitterError",
    "StorageFullError",
    "UsageError",
]


class SkitterError(Exception):
    """The root. `exit_code` is what the command line exits with."""

    exit_code = 1


class UsageError(SkitterError):
    """Something the operator typed is wrong; nothing was fetched."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown or has the wrong type; the message names it and where it came from."""


class InvalidURLError(UsageError):
    """The text is not an http or https URL."""


class JobChangedError(UsageError):
    """The job exists with other job-defining settings: use another --job or the old flags."""


class DataFolderError(SkitterError):
    """The data folder cannot be read or written."""

    exit_code = 2


class DataFolderBusyError(DataFolderError):
    """Another process uses the data folder; wait for it or choose another --data."""


class DataFolderNewerError(DataFolderError):
    """The data folder was written by a newer version; upgrade to read it."""


class DataFolderDamagedError(DataFolderError):
    """A file of the data folder is not what it should be; restore it or start a new folder."""


class MissingExtraError(SkitterError):
    """A package that this feature needs is not installed; the message has the install command."""

    exit_code = 2


class StorageFullError(SkitterError):
    """Disk or memory is full: make room and run the same command again, nothing is lost."""

    exit_code = 3


class BackendError(SkitterError):
    """A backend failed in a way that retrying here cannot mend."""
