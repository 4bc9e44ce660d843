"""Each page is opened once in Chromium: it has a title and a text, no error, and asks no other host for anything.

``STACKWRIGHT_DOCS_SCREENSHOTS=FOLDER`` keeps a picture of each page.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blocks import ROOT

SITE = ROOT / "build" / "site"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PARTS = ("reference/node/", "reference/rust/")
"""Of these, other tools write more than a thousand pages. The first one of each kind is opened; what all of them load and lead to is there."""

if CHROMIUM is None:
    pytest.skip("Chromium is not installed: no page was opened", allow_module_level=True)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        # Of pages that name no icon, a browser asks for this one.
        if self.path == "/favicon.ico":
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    # A page asks for more files at once than the default of 5; what a full queue drops is sent again after growing pauses.
    request_queue_size = 128


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


def _pages() -> list[str]:
    found = [path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html")]
    own = sorted(name for name in found if not name.startswith(PARTS))
    first: dict[tuple[str, ...], str] = {}
    for name in sorted((name for name in found if name.startswith(PARTS)), key=lambda name: (name.count("/"), name)):
        part, _, file = name.removeprefix("reference/").partition("/")
        # `classes/Engine.html` of Node, `stackwright/struct.Engine.html` and `src/stackwright/lib.rs.html` of Rust.
        kind = file.split("/")[0] if part == "node" or file.startswith("src/") else file.rsplit("/", 1)[-1].split(".")[0]
        first.setdefault((part, kind), name)
    return own + sorted(first.values())


WIDTHS = (1280, 400)
"""The widths of the window, in pixels: of a screen, and of a telephone."""


def _problems(page: Any, address: str, name: str) -> list[str]:
    problems: list[str] = []
    listeners = {
        "console": lambda message: problems.append(f"{name}: {message.text}") if message.type == "error" else None,
        "pageerror": lambda error: problems.append(f"{name}: {error}"),
        # What the next page ends is aborted.
        "requestfailed": lambda request: None if request.failure == "net::ERR_ABORTED" else problems.append(f"{name}: {request.url} was not loaded"),
        "request": lambda request: None if request.url.startswith((address, "data:", "blob:")) else problems.append(f"{name}: {request.url}"),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    answer = page.goto(f"{address}/{name}", wait_until="load", timeout=60_000)
    if answer.status != 200:
        problems.append(f"{name}: status {answer.status}")
    if not page.title() or page.evaluate("document.body.textContent.length") < 100:
        problems.append(f"{name}: no title or no text")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        beyond = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if beyond > 0 and not name.startswith(PARTS):
            problems.append(f"{name}: {beyond} pixels wider than a window of {width}")
        if folder := os.environ.get("STACKWRIGHT_DOCS_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{folder}/{name.replace('/', '-')}-{width}.png", full_page=True)
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    return problems


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    page = browser.new_page()
    yield page
    page.close()


@pytest.mark.timeout(300)
def test_every_page_opens_without_an_error(page: Any, address: str) -> None:
    names = _pages()
    assert len(names) > 30
    assert [problem for name in names for problem in _problems(page, address, name)] == []


@pytest.mark.parametrize("opened", ["from a server", "from files"])
@pytest.mark.parametrize("name", ["index.html", "reference/python.html"])
def test_the_search_finds_a_page(page: Any, address: str, opened: str, name: str) -> None:
    base = address if opened == "from a server" else SITE.as_uri()
    others: list[str] = []
    page.on("request", lambda request: None if request.url.startswith((base, "data:", "blob:")) else others.append(request.url))
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto(f"{base}/{name}", wait_until="load", timeout=60_000)
    page.keyboard.press("/")
    page.keyboard.type("wait_for_lock")
    page.click(".md-search-result__item a[href*='stores.html']", timeout=60_000)
    page.wait_for_url(f"{base}/stores.html**", timeout=60_000)
    assert others == []


def test_a_page_with_an_error_is_found(page: Any, address: str) -> None:
    broken = SITE / "broken.html"
    text = "<!doctype html><title>broken</title><p>text<script>missing()</script><img src='none.png'><div style='width: 3000px'>wide</div>"
    broken.write_text(text)
    try:
        problems = _problems(page, address, "broken.html")
    finally:
        broken.unlink()
    for expected in ("missing is not defined", "404", "no title or no text", "wider than a window of 1280"):
        assert any(expected in problem for problem in problems), expected
