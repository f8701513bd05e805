"""`make bench`: CPU per page of `skitter crawl` against the floor, on a real site.

nginx serves openjdk-17-doc on loopback. Floor and crawl take turns, so that a machine that is
busy or throttled for a while hurts both; medians are compared. The crawl is the command users
run, with frontier, store and JSONL output on; CPU is that of the whole process, its start
included, and of its children.

    python bench/run.py [--rounds 5] [--concurrency 16] [--url URL] [--json]
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DOCROOT = Path("/usr/share/doc/openjdk-17-doc/api")
FLOOR = Path(__file__).with_name("floor.py")
SKITTER = Path(sys.executable).with_name("skitter")
NGINX = """\
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 4096; }}
http {{
  types {{ text/html html; image/svg+xml svg; text/css css; application/javascript js; }}
  access_log off; sendfile on; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


def main() -> int:
    """Exit code 0: measured. The figures are printed, never judged here."""
    options = parse()
    with tempfile.TemporaryDirectory(prefix="skitter-bench-") as name:
        folder = Path(name)
        if options.url:
            report(measure(options.url, folder, options), options)
        else:
            with nginx(folder) as url:
                report(measure(url, folder, options), options)
    return 0


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--url", help="another site; default: openjdk-17-doc behind nginx")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


@contextmanager
def nginx(folder: Path) -> Iterator[str]:
    """A web server on a free port, stopped by its process id."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not DOCROOT.exists() or not Path(program).exists():
        sys.exit("bench: needs nginx and openjdk-17-doc; `make servers` installs them")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    conf = folder / "nginx.conf"
    conf.write_text(NGINX.format(folder=folder, port=port, root=DOCROOT))
    process = subprocess.Popen([program, "-e", str(folder / "error.log"), "-c", str(conf)])
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}/index.html"
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int) -> None:
    """Until somebody listens there."""
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    sys.exit("bench: nginx did not start")


def measure(url: str, folder: Path, options: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Runs of each contestant, interleaved."""
    runs: dict[str, list[dict[str, Any]]] = {"floor": [], "skitter": []}
    for number in range(options.rounds):
        for name, results in runs.items():
            data = folder / f"{name}-{number}"
            data.mkdir()
            last = run(name, url, data, options.concurrency)
            results.append(last)
            shutil.rmtree(data)
            print(f"  {name:<8} {last['cpu_us']:7.0f} µs/page", file=sys.stderr, flush=True)
    return runs


def run(name: str, url: str, data: Path, concurrency: int) -> dict[str, Any]:
    """One run in a process of its own."""
    floor = [sys.executable, str(FLOOR), url, str(concurrency)]
    crawl = [
        *(str(SKITTER), "crawl", url, "--json", "--delay", "0"),
        *("--concurrency", str(concurrency), "--data", str(data / "data")),
        *("-o", str(data / "pages.jsonl")),
    ]
    process = subprocess.Popen(
        floor if name == "floor" else crawl,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NO_COLOR": "1"},
    )
    output = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {name} failed with exit code {process.returncode}")
    told = json.loads(output)
    cpu = usage.ru_utime + usage.ru_stime
    return {
        "pages": told["pages"],
        "seconds": told["seconds"],
        "cpu_us": cpu / told["pages"] * 1e6,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def report(runs: dict[str, list[dict[str, Any]]], options: argparse.Namespace) -> None:
    """Medians and their ratio."""
    rows = {
        name: {key: statistics.median(run[key] for run in results) for key in results[0]}
        for name, results in runs.items()
    }
    ratio = rows["skitter"]["cpu_us"] / rows["floor"]["cpu_us"]
    if options.json:
        print(json.dumps({"rounds": options.rounds, **rows, "cpu_ratio": round(ratio, 3)}))
        return
    print(f"{'':<9}{'pages':>8}{'CPU µs/page':>13}{'pages/s':>10}{'peak MB':>9}")
    for name, row in rows.items():
        rate = row["pages"] / row["seconds"]
        print(
            f"{name:<9}{row['pages']:>8.0f}{row['cpu_us']:>13.0f}{rate:>10.0f}{row['peak_mb']:>9.0f}"
        )
    print(f"skitter / floor: {ratio:.2f} times the CPU per page (medians of {options.rounds} runs)")


if __name__ == "__main__":
    sys.exit(main())
