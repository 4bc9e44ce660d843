"""The code blocks of pages in Markdown, with what their markers add.

A marker is an HTML comment before a block, and several can follow each other:

``<!-- docs: file=NAME -->``
    The block is written to this file, and is run by the commands of later blocks only.
``<!-- docs: inside=NAME -->``
    The block is a part of a program: it takes the place of the line ``BLOCK`` in a file of ``docs/tests/inside``.
``<!-- docs: before`` … ``-->``, ``<!-- docs: after`` … ``-->``
    Lines in front of the block and behind it, which readers do not see.
``<!-- docs: output -->``
    The block is the output of the block before it. ``…`` stands for any text of one line, and alone in a line for any lines.

The hook of MkDocs removes markers from the pages.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSIDE = Path(__file__).resolve().with_name("inside")

RUN = {"python": "py", "js": "mjs", "ts": "ts", "c": "c", "rust": "rs", "sh": "sh"}
"""The languages whose blocks are run, with the suffixes of their files."""
SHOWN = ("text", "json", "yaml", "toml", "ebnf", "protobuf", "mermaid")
"""The languages of other blocks."""

MARKER = re.compile(r"<!--\s*docs:\s*(?P<body>.*?)\s*-->", re.DOTALL)
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`\n]*)$")
_INCLUDE = re.compile(r'^--8<-- "(?P<path>[^"]+)"$')


class PageError(Exception):
    """A page has a block or a marker that the tests cannot read."""


@dataclass
class Block:
    """A block with the markers before it."""

    page: str
    line: int
    language: str
    text: str
    file: str | None = None
    inside: str | None = None
    before: str = ""
    after: str = ""
    output: str | None = None
    """The expected output, which is the text of a later block."""
    is_output: bool = False

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    def program(self) -> str:
        """Returns the block with what its markers add."""
        parts = [part.strip("\n") for part in (self.before, self.text, self.after) if part.strip()]
        if self.inside is None:
            return "\n".join(parts) + "\n"
        suffix = RUN[self.language]
        around = INSIDE / f"{self.inside}.{suffix}"
        if not around.is_file():
            raise PageError(f"{self.place}: there is no {around.relative_to(ROOT)}")
        text = around.read_text(encoding="utf-8")
        found = re.search(r"^(?P<indent>[ \t]*)(?:#|//|/\*)? ?BLOCK(?: ?\*/)?$", text, re.MULTILINE)
        if found is None:
            raise PageError(f"{around.relative_to(ROOT)} has no line BLOCK")
        body = textwrap.indent("\n".join(parts), found["indent"])
        return text[: found.start()] + body + text[found.end() :]


@dataclass
class _Markers:
    file: str | None = None
    inside: str | None = None
    before: str = ""
    after: str = ""
    is_output: bool = False
    pending: list[int] = field(default_factory=list)

    def add(self, page: str, line: int, body: str) -> None:
        word, _, rest = body.partition("\n") if "\n" in body else (body, "", "")
        name, _, value = word.strip().partition("=")
        if name in ("file", "inside") and value and not rest:
            setattr(self, name, value)
        elif name in ("before", "after") and not value and rest.strip():
            setattr(self, name, textwrap.dedent(rest))
        elif name == "output" and not value and not rest:
            self.is_output = True
        else:
            raise PageError(f"{page}:{line}: unknown marker {word!r}")
        self.pending.append(line)


def _included(page: str, line: int, text: str) -> str:
    """Replaces lines that include a file of the repository by that file."""
    lines = []
    for each in text.split("\n"):
        found = _INCLUDE.match(each.strip())
        if found is None:
            lines.append(each)
            continue
        path = ROOT / found["path"]
        if not path.is_file():
            raise PageError(f"{page}:{line}: there is no {found['path']}")
        lines.append(path.read_text(encoding="utf-8").rstrip("\n"))
    return "\n".join(lines)


def _elements(page: str, text: str) -> Iterator[tuple[int, str, str, str]]:
    """Yields line, kind (``marker``, ``block`` or ``text``), language and content of what a page consists of."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence is not None:
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == fence["ticks"]), None)
            if end is None:
                raise PageError(f"{page}:{at + 1}: the block has no end")
            language = fence["info"].strip().split(" ")[0]
            content = textwrap.dedent("\n".join(lines[at + 1 : end]))
            yield at + 1, "block", language, _included(page, at + 1, content)
            at = end + 1
        elif line.lstrip().startswith("<!-- docs:"):
            end = next((n for n in range(at, len(lines)) if "-->" in lines[n]), None)
            if end is None:
                raise PageError(f"{page}:{at + 1}: the marker has no end")
            found = MARKER.fullmatch("\n".join(lines[at : end + 1]).strip())
            if found is None:
                raise PageError(f"{page}:{at + 1}: the marker is not alone in its lines")
            yield at + 1, "marker", "", found["body"]
            at = end + 1
        else:
            if line.strip():
                yield at + 1, "text", "", line
            at += 1


def blocks_of(page: str, text: str) -> list[Block]:
    """Returns the blocks of a page that are run or written, in their order.

    :raises PageError: for a block without a language or with another one, and for a marker that belongs to no block.
    """
    blocks: list[Block] = []
    markers = _Markers()
    for line, kind, language, content in _elements(page, text):
        if kind == "marker":
            markers.add(page, line, content)
            continue
        if kind == "text":
            if markers.pending:
                raise PageError(f"{page}:{markers.pending[0]}: no block follows the marker")
            continue
        if language not in RUN and language not in SHOWN:
            raise PageError(f"{page}:{line}: the language {language!r} is none of {', '.join([*RUN, *SHOWN])}")
        if markers.is_output:
            if not blocks or blocks[-1].language not in RUN or blocks[-1].file is not None:
                raise PageError(f"{page}:{line}: no block before has an output")
            blocks[-1].output = content
        elif language in RUN or markers.file is not None:
            blocks.append(
                Block(page, line, language, content, markers.file, markers.inside, markers.before, markers.after)
            )
        elif markers.pending:
            raise PageError(f"{page}:{line}: a block in {language} is not run")
        markers = _Markers()
    if markers.pending:
        raise PageError(f"{page}:{markers.pending[0]}: no block follows the marker")
    return blocks


def pages() -> list[Path]:
    """Returns the pages whose blocks are run: those of the site, and those that introduce the repository and its packages."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "README.md", *(ROOT / f"bindings-{name}" / "README.md" for name in ("node", "python")), *found]


_SLOW = re.compile(r"  (?:\d+ min )?[\d.]+ s$", re.MULTILINE)
"""The duration at the end of a step's line, which only slow steps have."""


def output_matches(expected: str, actual: str) -> bool:
    """Compares an output with the expected one, in which ``…`` stands for any text. Durations of steps are not compared."""
    actual = _SLOW.sub("", actual)
    pattern = []
    for line in expected.strip("\n").split("\n"):
        if line.strip() == "…":
            pattern.append(r"(?:[^\n]*\n)*?")
        else:
            pattern.append(".*?".join(re.escape(part) for part in line.rstrip().split("…")) + r"[ \t]*\n")
    return re.fullmatch("".join(pattern), actual.strip("\n") + "\n") is not None
