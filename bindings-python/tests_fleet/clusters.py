"""Servers of stores, and clusters whose processes a test can kill: their output stays in files, which are searched for secrets."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "bindings-python" / "tests"
START_SECONDS = 120
UNPRIVILEGED = 65534

sys.path.insert(0, str(TESTS))


def until(done: Any, what: str, seconds: float = START_SECONDS) -> Any:
    """Waits until a function returns something."""
    deadline = time.monotonic() + seconds
    while not (found := done()):
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_stopped(number: int) -> bool:
    """Returns whether a process is stopped by a signal."""
    # The name of the program, in parentheses, can have spaces.
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def clean_environment(**variables: str) -> dict[str, str]:
    """Returns the environment of a process whose packages are those of its own interpreter."""
    return {**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **variables}


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Starts PostgreSQL, and returns the URL of a store without its table."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if not versions:
        pytest.fail("PostgreSQL is not installed in /usr/lib/postgresql")
    programs = versions[-1].parent
    # Its user must reach the folder.
    folder = Path(subprocess.run(["mktemp", "-d"], check=True, capture_output=True, text=True).stdout.strip())
    user: dict[str, Any] = {}
    if os.getuid() == 0:
        # The server refuses root.
        os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
        user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED}
    try:
        data = str(folder / "data")
        create = [str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-N"]
        subprocess.run(create, check=True, capture_output=True, cwd="/", **user)
        port = free_port()
        command = [str(programs / "postgres"), "-D", data, "-p", str(port), "-k", str(folder)]
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen([*command, *options], stdout=log, stderr=log, cwd="/", **user)
        try:
            ready = [str(programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
            until(lambda: subprocess.run(ready, check=False).returncode == 0, "the start of PostgreSQL")
            yield f"postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable&table={{}}"
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(START_SECONDS)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def bucket() -> Iterator[str]:
    """Starts S3 by moto, and returns the URL of a store without its prefix."""
    python = os.environ.get("STACKWRIGHT_TEST_MOTO")
    if not python:
        pytest.fail("STACKWRIGHT_TEST_MOTO names no Python that has moto")
    # Not by its path: the folder of the script would be searched for the package of the same name.
    script = (ROOT / "testkit" / "src" / "server" / "moto.py").read_text()
    with subprocess.Popen([python, "-c", script], env=clean_environment(), stdout=subprocess.PIPE, text=True) as process:
        deadline = threading.Timer(START_SECONDS, process.kill)
        deadline.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        deadline.cancel()
        try:
            assert line.startswith("port "), line
            yield f"s3://state/{{}}?endpoint=127.0.0.1:{line.split()[1]}&disableSSL=true&region=eu-west-1"
        finally:
            process.kill()


class Proxy:
    """Forwards connections to a port of loopback until they are cut."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.connections: list[socket.socket] = []
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            with self.lock:
                self.connections += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self) -> int:
        """Cuts all connections, and returns their number."""
        with self.lock:
            cut, self.connections = self.connections, []
        for connection in cut:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        return len(cut) // 2

    def close(self) -> None:
        self.listener.close()
        self.cut()


@dataclass
class Processes:
    """Processes of a cluster, each with a file that has its output."""

    folder: Path
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, command: list[str], **variables: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, env=clean_environment(**variables))
        self.running.append(process)
        return process

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        """Returns the process with a number."""
        return next(process for process in self.running if process.pid == number)

    def logs(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file())

    def end(self) -> None:
        for process in self.running:
            process.kill()
            process.wait(START_SECONDS)


@dataclass
class Dask(Processes):
    """A scheduler and workers of Dask, each worker one process."""

    address: str = ""
    proxy: Proxy | None = None

    def begin(self, workers: int) -> None:
        port = free_port()
        # A worker that is stopped is given up soon. All that Dask logs is searched.
        variables = {
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "8 seconds",
            "DASK_LOGGING__DISTRIBUTED": "debug",
            "PYTHONPATH": str(TESTS),
        }
        python = [sys.executable, "-m"]
        flags = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show"]
        self.start("scheduler", [*python, "distributed.cli.dask_scheduler", *flags], **variables)
        until(lambda: listens(port), "the start of the scheduler")
        for number in range(workers):
            flags = [f"tcp://127.0.0.1:{port}", "--no-nanny", "--nthreads", "4", "--no-dashboard", "--host", "127.0.0.1"]
            flags += ["--name", f"w{number}", "--local-directory", str(self.folder / f"scratch-{number}"), "--death-timeout", "60"]
            self.start(f"worker-{number}", [*python, "distributed.cli.dask_worker", *flags], **variables)
        self.proxy = Proxy(port)
        self.address = f"tcp://127.0.0.1:{self.proxy.port}"

    def end(self) -> None:
        super().end()
        if self.proxy is not None:
            self.proxy.close()


@pytest.fixture
def dask_cluster(tmp_path: Path) -> Iterator[Dask]:
    """Starts a cluster of three workers."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Dask(folder)
    try:
        cluster.begin(3)
        yield cluster
    finally:
        cluster.end()


