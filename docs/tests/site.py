"""The hook of MkDocs: removes the markers of blocks, and adds the generated references to the site.

The reference of Node comes from ``build/reference/node`` (typedoc), that of Rust from ``build/reference/rust`` (rustdoc); that of C is
written here, from the header.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).resolve().parent))

import header  # noqa: E402
from blocks import MARKER, ROOT  # noqa: E402

GENERATED = ROOT / "build" / "reference"


_RUST = re.compile(r"^```rust\n.*?^```$", re.MULTILINE | re.DOTALL)


_TITLED = re.compile(r"<!-- docs: (?:(?P<output>output)|file=(?P<file>\S+)) -->\n(?P<fence>```\w+)\n")


def _titled(block: re.Match[str]) -> str:
    """Returns the begin of a block with a title: the name of its file, or that it is an output."""
    return f'{block["fence"]} title="{block["file"] or "output"}"\n'


def on_page_markdown(markdown: str, **_: Any) -> str:
    # Lines of a block in Rust that begin with `#` are hidden, as in the pages of rustdoc.
    markdown = _RUST.sub(lambda block: re.sub(r"(?m)^# .*\n", "", block[0]), markdown)
    return MARKER.sub("", _TITLED.sub(_titled, markdown))


def on_files(files: Files, config: Any) -> Files:
    for path in sorted(GENERATED.rglob("*")):
        if path.is_file():
            # Beside the pages with the same names: reference/node.md describes what is in reference/node.
            name = f"reference/{path.relative_to(GENERATED).as_posix()}"
            files.append(File.generated(config, name, abs_src_path=str(path)))
    page = header.page((ROOT / "include" / "stackwright.h").read_text(encoding="utf-8"))
    files.append(File.generated(config, "reference/c.md", content=page))
    return files
