"""A server of plugins' archives on loopback, and the archives."""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["ArchiveServer", "archive", "archive_server", "sha256"]


def archive(name: str, text: str, kind: str = "resource") -> bytes:
    """Packs a plugin whose executable has this text."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        info = tarfile.TarInfo(f"pulumi-{kind}-{name}")
        info.size = len(text)
        info.mode = 0o755
        file.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class ArchiveServer:
    """Has one archive for each of the paths that begin with a text; other paths do not exist."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.archives: dict[str, bytes] = {}
        self.asked: list[str] = []

    def answer(self, path: str) -> bytes | None:
        self.asked.append(path)
        return next((content for begin, content in self.archives.items() if path.startswith(begin)), None)


@contextlib.contextmanager
def archive_server() -> Iterator[ArchiveServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = served.answer(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = ArchiveServer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, name="archive server")
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
