"""An extension of griffe: the marks of reStructuredText in docstrings become those of Markdown."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|attr|data|mod|exc|obj):`~?(?P<target>[^`]+)`")
_LITERAL = re.compile(r"``(?P<text>[^`]+)``")
_BLOCK = re.compile(r"^(?P<text>[^\n]*?)::\n\n(?P<code>(?: {4,}[^\n]*(?:\n|$)|\n)+)", re.MULTILINE)


def _fenced(found: re.Match[str]) -> str:
    text = found["text"].rstrip()
    colon = ":" if text and not text.endswith((".", ":")) else ""
    code = textwrap.dedent(found["code"]).strip("\n")
    return f"{text}{colon}\n\n```python\n{code}\n```\n\n"


def converted(text: str) -> str:
    """Returns a docstring in Markdown."""
    text = _ROLE.sub(lambda found: f"`{found['target'].removeprefix('stackwright.')}`", text)
    return _BLOCK.sub(_fenced, _LITERAL.sub(r"`\g<text>`", text))


class MarkdownDocstrings(griffe.Extension):
    """Converts each docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = converted(obj.docstring.value)
