"""`skitter doctor`: can this machine crawl, and if not, what to do."""

import os
from pathlib import Path

import click
import msgspec

from skitter.cli.checks import Finding, Status, examine
from skitter.cli.options import examples
from skitter.clock import SystemClock

__all__ = ["doctor"]

COLORS = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "red"}


@click.command(epilog=examples("skitter doctor", "skitter doctor --data /var/crawl --json"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("skitter-data"),
    metavar="DIR",
    show_default=True,
    help="The data folder to check; it is not created.",
)
def doctor(as_json: bool, data: Path) -> int:
    """Check that this machine can crawl.

    Each line is ok, warn or fail, with what it is needed for and how to mend it. Exit code 1:
    something that is required is missing.
    """
    findings = examine(data, SystemClock())
    healthy = all(finding.status is not Status.FAIL for finding in findings)
    if as_json:
        click.echo(msgspec.json.encode({"healthy": healthy, "checks": findings}))
    else:
        for finding in findings:
            _print(finding)
    return 0 if healthy else 1


def _print(finding: Finding) -> None:
    color = False if os.environ.get("NO_COLOR") else None
    status = click.style(f"{finding.status:<4}", fg=COLORS[finding.status])
    line = f"{status}  {finding.name:<18}  {finding.detail}"
    if finding.fix:
        line += f"\n      needed for {finding.needed_for}; to mend it: {finding.fix}"
    else:
        line += click.style(f"  ({finding.needed_for})", dim=True)
    click.echo(line, color=color)
