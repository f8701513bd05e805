"""What is crawled: a site that the bench starts itself, or one that is there already."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from skitter.errors import BackendError, UsageError

__all__ = ["JDK_FOLDER", "QUICK_PAGES", "SIM_PAGES", "Site", "jdk_site", "sim_site"]

#: Pages of the built-in site, and of `--quick`.
SIM_PAGES, QUICK_PAGES = 2_000, 200

#: Where Debian puts the API documentation of OpenJDK 17.
JDK_FOLDER = Path("/usr/share/doc/openjdk-17-doc/api")

_NGINX = """
daemon off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/error.log crit;
events {{ worker_connections 4096; }}
http {{
  types {{ text/html html; text/css css; application/javascript js; image/svg+xml svg; }}
  access_log off; sendfile on; keepalive_requests 1000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


class Site(Struct, frozen=True, kw_only=True):
    """Something to crawl."""

    url: str
    title: str
    #: Whether an unmeasured crawl may go first: only on what we started ourselves.
    warm_up: bool = True


@contextmanager
def sim_site(pages: int) -> Iterator[Site]:
    """The built-in site, in a process of its own until the block ends."""
    command = [sys.executable, "-m", "skitter.bench.simulated", str(pages)]
    process = subprocess.Popen(  # noqa: S603  (our own module)
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        url = process.stdout.readline().strip() if process.stdout else ""
        if not url:
            message = "the built-in site did not start"
            raise BackendError(message)
        yield Site(url=url, title=f"the built-in site of {pages} pages")
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def jdk_site(folder: Path) -> Iterator[Site]:
    """The documentation of OpenJDK behind nginx until the block ends; `folder` is nginx's."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None or not JDK_FOLDER.exists():
        message = (
            "--site jdk needs nginx and the JDK's pages: apt install nginx-light openjdk-17-doc"
        )
        raise UsageError(message)
    with socket.create_server(("127.0.0.1", 0), backlog=511) as listener:
        listener.settimeout(0.0)  # nginx expects it so
        port = listener.getsockname()[1]
        conf = folder / "nginx.conf"
        conf.write_text(_NGINX.format(folder=folder, port=port, root=JDK_FOLDER))
        # nginx takes over a socket that is named there, as when it upgrades itself: nobody can
        # take the port in between, and who connects before nginx is up waits in the queue.
        process = subprocess.Popen(  # noqa: S603  (found above)
            [program, "-e", str(folder / "error.log"), "-c", str(conf)],
            env=os.environ | {"NGINX": f"{listener.fileno()};"},
            pass_fds=[listener.fileno()],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield Site(
                url=f"http://127.0.0.1:{port}/index.html", title="openjdk-17-doc behind nginx"
            )
        finally:
            process.terminate()
            process.wait()
