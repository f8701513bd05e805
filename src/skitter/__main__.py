"""The way in: `skitter`, or `python -m skitter`."""

from skitter.cli.loading import Loading

__all__ = ["run"]


def run() -> None:
    """Run the command line."""
    try:
        with Loading():
            from skitter.cli.main import main  # noqa: PLC0415  (Ctrl+C is no traceback here)
        main()
    except KeyboardInterrupt:
        raise SystemExit(3) from None


if __name__ == "__main__":
    run()
