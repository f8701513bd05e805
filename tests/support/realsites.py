"""Two real sites, as Debian ships them, behind nginx."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POSTGRES = Path("/usr/share/doc/postgresql-doc-15/html")
JDK = Path("/usr/share/doc/openjdk-17-doc/api")

_CONFIGURATION = """
daemon off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/error.log crit;
events {{ worker_connections 512; }}
http {{
  include /etc/nginx/mime.types; access_log off; sendfile on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


@contextmanager
def served(root: Path, folder: Path) -> Iterator[str]:
    """Serve a folder until the block ends; gives the origin."""
    with socket.create_server(("127.0.0.1", 0), backlog=511) as listener:
        listener.setblocking(False)  # nginx expects it so
        port = listener.getsockname()[1]
        path = folder / "nginx.conf"
        path.write_text(_CONFIGURATION.format(folder=folder, port=port, root=root))
        # nginx takes over a socket that is named there, as when it upgrades itself: nobody can
        # take the port in between, and who connects before nginx is up waits in the queue.
        inherited = os.environ | {"NGINX": f"{listener.fileno()};"}
        process = subprocess.Popen(
            ["/usr/sbin/nginx", "-e", str(folder / "error.log"), "-c", str(path)],
            env=inherited,
            pass_fds=[listener.fileno()],
            stderr=subprocess.DEVNULL,
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()
