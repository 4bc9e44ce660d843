"""An extension of griffe: the marks of reStructuredText in docstrings become those of Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|meth|func|attr|data|mod|exc|obj):`~?(?P<target>[^`]+)`")
_LITERAL = re.compile(r"(?P<text>[^\n]*?)(?P<colon>:?):\n\n(?P<code>(?:(?P<indent> {4,})[^\n]*\n?|\n)+)")


def _code(found: re.Match[str]) -> str:
    text = found["text"].rstrip()
    colon = ":" if text and not text.endswith(".") else ""
    return f"{text}{colon}\n\n```python\n{griffe_dedent(found['code'])}\n```\n\n"


def griffe_dedent(code: str) -> str:
    lines = code.strip("\n").split("\n")
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "\n".join(line[indent:] for line in lines)


def converted(text: str) -> str:
    """Returns a docstring in Markdown."""
    text = re.sub(r"(?m)^(?P<text>[^\n]*?)::\n\n(?P<code>(?: {4,}[^\n]*(?:\n|$)|\n)+)", _code, text)
    text = _ROLE.sub(lambda found: f"`{found['target'].removeprefix('stackwright.')}`", text)
    return text.replace("``", "`")


class MarkdownDocstrings(griffe.Extension):
    """Converts each docstring before it is parsed."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = converted(obj.docstring.value)
