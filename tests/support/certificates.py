"""Certificates nobody vouches for, made by openssl."""

import ssl
import subprocess
from pathlib import Path


def certificate(folder: Path, names: str) -> Path:
    """A self-signed certificate; its key lies beside it."""
    path = folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-subj", "/CN=test", "-addext", f"subjectAltName={names}", "-days", "1"]
    command += ["-keyout", str(_key(path)), "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return path


def server_context(path: Path) -> ssl.SSLContext:
    """What a server with this certificate speaks TLS with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path, _key(path))
    return context


def _key(path: Path) -> Path:
    return path.with_name("key.pem")
