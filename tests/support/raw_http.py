"""Raw HTTP: bytes that no client would send, a self-signed certificate, and a reverse proxy on this machine."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.running import PATIENCE


@dataclass(frozen=True)
class Reply:
    """The bytes that came until the other side closed."""

    data: bytes

    @property
    def status(self) -> int | None:
        """The status; None if it closed without a reply."""
        return int(self.data.split(b" ", 2)[1]) if self.data.startswith(b"HTTP/1.1 ") else None

    @property
    def document(self) -> Any:
        return json.loads(self.data.partition(b"\r\n\r\n")[2])

    @property
    def headers(self) -> list[str]:
        return self.data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]


def send(port: int, *pieces: bytes, pause: float = 0.0, finish: bool = False) -> Reply:
    """Send the pieces with pauses between; with `finish`, then signal the end; read until the other side closes, and
    fail if it does not."""
    data = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        with contextlib.suppress(OSError):  # it may reply before everything is sent
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
            if finish:
                connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            while more := connection.recv(65536):
                data += more
    return Reply(data)


def request(method: str, path: str, headers: Mapping[str, str] | Iterable[tuple[str, str]] = (), body: bytes = b"") -> bytes:
    """The bytes of a request after which the connection closes; only a host is added, and nothing is checked."""
    pairs = [*(headers.items() if isinstance(headers, Mapping) else headers)]
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs.insert(0, ("Host", "127.0.0.1"))
    head = "".join(f"{name}: {value}\r\n" for name, value in [*pairs, ("Connection", "close")])
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for this machine, and its key: files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    here = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(here), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return files


@contextlib.contextmanager
def proxied(port: int, headers: Mapping[str, str], files: tuple[Path, Path] | None = None) -> Iterator[int]:
    """The port of a reverse proxy before another port: it passes requests on with these headers instead of the
    browser's, and appends the addresses in them to what the browser claims. It encrypts if it has the files of a
    certificate and a key."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kept = {name: value for name, value in self.headers.items() if name.lower() not in {key.lower() for key in headers}}
            claimed = {name: f"{self.headers[name]}, {headers[name]}" for name in ("X-Forwarded-For",) if name in self.headers}
            upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            upstream.request(self.command, self.path, body, {**kept, **headers, **claimed})
            answer = upstream.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            upstream.close()

        do_GET = do_POST = do_PUT = pass_on  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    if files is not None:
        encrypted = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        encrypted.load_cert_chain(*files)
        server.socket = encrypted.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
