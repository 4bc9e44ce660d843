"""Every link of the built site, and of the documents beside it, leads to a place that exists."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import stackwright as sw

from blocks import ROOT, RUN, blocks_of, pages

SITE = ROOT / "build" / "site"
REFERENCES = {"reference/node", "reference/rust"}
"""Parts of the site that other tools write: links into them are checked with those of the pages, and those inside apart."""


class Page(HTMLParser):
    """The links of a page, and the ids that links can name."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.codes: list[str] = []
        """The texts of blocks of code."""
        self._inside: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside == ["pre", "code"]:
            self.codes[-1] += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("pre", "code") and (tag == "pre" or self._inside):
            self._inside.append(tag)
            if tag == "code":
                self.codes.append("")
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src"):
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value)


def _own(page: Path) -> bool:
    return not any(page.is_relative_to(SITE / part) for part in REFERENCES)


@pytest.fixture(scope="module")
def site() -> dict[Path, Page]:
    assert (SITE / "index.html").is_file(), "the site is not built: make docs"
    sources = [ROOT / "mkdocs.yml", *(path for path in (ROOT / "docs").glob("**/*.md"))]
    newest = max(sources, key=lambda path: path.stat().st_mtime)
    assert newest.stat().st_mtime <= (SITE / "index.html").stat().st_mtime, f"{newest} is newer than the site: make docs"
    return {path: Page(path) for path in SITE.rglob("*.html") if _own(path)}


def broken(site: dict[Path, Page]) -> list[str]:
    """Returns the links that lead nowhere, and those that lead to another host."""
    found = []
    for path, page in site.items():
        for link in page.links:
            parts = urlsplit(link)
            place = f"{path.relative_to(SITE)}: {link}"
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                found.append(f"{place}: another host")
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if path.name == "404.html" and parts.path.startswith("/"):
                target = SITE / parts.path.lstrip("/")
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                found.append(f"{place}: there is no such file")
            elif parts.fragment and target in site and unquote(parts.fragment) not in site[target].ids:
                found.append(f"{place}: the page has no such place")
    return found


def test_every_link_of_the_site_leads_somewhere(site: dict[Path, Page]) -> None:
    assert sum(len(page.links) for page in site.values()) > 1000
    assert broken(site) == []


def test_a_link_to_a_missing_page_or_place_or_to_another_host_is_found(site: dict[Path, Page]) -> None:
    path = SITE / "index.html"
    page = Page(path)
    page.links = ["missing.html", "stores.html#missing", "https://example.com/", "stores.html#locks-and-leases", "#_top"]
    found = broken({**site, path: page})
    assert [line.rsplit(": ", 1)[1] for line in found] == [
        "there is no such file", "the page has no such place", "another host", "the page has no such place",
    ]  # fmt: skip


def _slug(title: str) -> str:
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", title.strip().lower()))


def test_every_relative_link_of_the_documents_of_the_repository_leads_somewhere() -> None:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found = []
    for name in listed.splitlines():
        text = (ROOT / name).read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^()\s]+)\)", prose):
            parts = urlsplit(link)
            if parts.scheme or name.startswith("docs/"):
                # Those of pages are among the links of the site.
                continue
            target = ROOT / name if not parts.path else (ROOT / name).parent / parts.path
            if not target.exists():
                found.append(f"{name}: {link}")
            elif parts.fragment:
                titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
                if parts.fragment not in {_slug(title) for title in titles}:
                    found.append(f"{name}: {link}")
    assert found == []


def test_pages_name_no_file_of_the_repository_that_is_not_there() -> None:
    roots = "bench bindings-c bindings-node bindings-python core docs examples include proto scenarios testkit".split()
    found = []
    for page in pages():
        for name in re.findall(rf"`((?:{'|'.join(roots)})/[\w./-]+)`", page.read_text(encoding="utf-8")):
            if not (ROOT / name).exists():
                found.append(f"{page.relative_to(ROOT)}: {name}")
    assert found == []


def test_pages_with_blocks_in_rust_are_compiled_by_rustdoc() -> None:
    included = set(re.findall(r'include_str!\("\.\./\.\./([^"]+)"\)', (ROOT / "testkit/src/documents.rs").read_text()))
    with_rust = set()
    for page in pages():
        name = str(page.relative_to(ROOT))
        if any(block.language == "rust" for block in blocks_of(name, page.read_text(encoding="utf-8"))):
            with_rust.add(name)
    assert with_rust == included
    assert "rust" in RUN


def test_the_reference_of_c_has_every_function_of_the_header(site: dict[Path, Page]) -> None:
    header = (ROOT / "include" / "stackwright.h").read_text(encoding="utf-8")
    functions = set(re.findall(r"^[a-z][\w ]*?\**\s*(sw_\w+)\(", header, re.MULTILINE))
    assert len(functions) > 100
    assert functions <= site[SITE / "reference" / "c.html"].ids


def test_pages_that_a_reader_follows_step_by_step_show_all_of_their_code() -> None:
    hidden = []
    for page in sorted((ROOT / "docs" / "get-started").glob("*.md")):
        for block in blocks_of(page.name, page.read_text(encoding="utf-8")):
            if block.inside or block.before or block.after:
                hidden.append(block.place)
    assert hidden == []


@pytest.mark.parametrize(
    ("module", "number"),
    [("stackwright", 100), ("stackwright.testing", 20), ("stackwright.fleet", 14), ("stackwright.sync", 14), ("stackwright.logging", 1)],
)
def test_the_reference_of_python_has_every_public_name(site: dict[Path, Page], module: str, number: int) -> None:
    imported = importlib.import_module(module)
    assert len(imported.__all__) > number
    described = {identifier for path in (SITE / "reference").glob("python*.html") for identifier in site[path].ids}
    missing = []
    for name in imported.__all__:
        # A class or a function is described as that of the module that defines it: `sync.Engine` is not `Engine`. Types do not know theirs,
        # and classes of the native module are described where Python's modules list them.
        defined = getattr(getattr(imported, name), "__module__", "")
        inside = f"{defined if defined.startswith('stackwright') and defined != 'stackwright._stackwright' else module}."
        if not any(identifier.startswith(inside) and identifier.endswith(f".{name}") for identifier in described):
            missing.append(name)
    assert missing == []


def test_the_site_shows_the_blocks_that_are_run(site: dict[Path, Page]) -> None:
    missing, compared = [], 0
    for page in pages():
        if page.name == "README.md":
            continue
        name = page.relative_to(ROOT / "docs")
        shown = {code.strip("\n") for code in site[SITE / name.with_suffix(".html")].codes}
        for block in blocks_of(str(name), page.read_text(encoding="utf-8")):
            text = re.sub(r"(?m)^# .*\n", "", block.text) if block.language == "rust" else block.text
            for expected in (text, block.output or ""):
                compared += 1
                if expected.strip("\n") and expected.strip("\n") not in shown:
                    missing.append(block.place)
    assert missing == []
    assert compared > 200


def test_each_kind_of_error_has_a_page() -> None:
    kinds = [error.kind for error in vars(sw.errors).values() if isinstance(error, type) and issubclass(error, sw.StackwrightError)]
    pages_of_kinds = {path.stem for path in (ROOT / "docs" / "errors").glob("*.md")} - {"index"}
    assert pages_of_kinds == set(kinds)
    table = (ROOT / "docs" / "errors" / "index.md").read_text(encoding="utf-8")
    for kind in kinds:
        assert f"[`{kind}`]({kind}.md)" in table
        assert f"The kind `{kind}` of" in (ROOT / "docs" / "errors" / f"{kind}.md").read_text(encoding="utf-8")


def test_the_links_of_the_reference_of_rust_lead_to_pages() -> None:
    folder = SITE / "reference" / "rust"
    found: dict[Path, str] = {}
    for page in folder.rglob("*.html"):
        # Scripts have links of which they make the ends.
        text = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in set(re.findall(r'(?:href|src)="([^"]+)"', text)):
            parts = urlsplit(unescape(link))
            if parts.path and not parts.scheme:
                found.setdefault(Path(os.path.normpath(page.parent / unquote(parts.path))), f"{page.relative_to(folder)}: {link}")
    assert len(found) > 500
    assert [place for target, place in found.items() if not target.exists()] == []


def test_the_links_of_the_reference_of_node_lead_to_pages() -> None:
    folder = SITE / "reference" / "node"
    found = {(page, link) for page in folder.rglob("*.html") for link in Page(page).links}
    relative = [(page, urlsplit(link).path) for page, link in found if not urlsplit(link).scheme]
    missing = {path for page, path in relative if path and not (page.parent / unquote(path)).exists()}
    assert len(relative) > 1000 and not missing, missing
