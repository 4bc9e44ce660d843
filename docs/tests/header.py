"""The page of the C API, from the header: each comment with the declaration behind it."""

from __future__ import annotations

import re

_PREPROCESSOR = re.compile(r"^#(?:if|ifndef|ifdef|else|endif)\b.*\n?|^typedef (?:enum|int32_t).*\n?|^  : int32_t\n", re.MULTILINE)

SECTIONS = (
    ("Constants", re.compile(r"^#define (?P<name>\w+)")),
    ("Enumerations", re.compile(r"^enum (?P<name>\w+)")),
    ("Structures", re.compile(r"^typedef struct (?P<name>\w+)")),
    ("Functions", re.compile(r"^[\w\s*]*?(?P<name>sw_\w+)\(")),
)


def _text(comment: str) -> str:
    lines = [line[2:].removeprefix(" ") for line in comment.rstrip("\n").split("\n")]
    return "\n".join(lines).strip("\n")


def entries(header: str) -> dict[str, list[tuple[str, str, str]]]:
    """Returns names, texts and declarations by section."""
    found: dict[str, list[tuple[str, str, str]]] = {title: [] for title, _ in SECTIONS}
    lines = header.split("\n")
    at = 0
    while at < len(lines):
        if lines[at] != "/**":
            at += 1
            continue
        end = next(n for n in range(at, len(lines)) if lines[n] == " */")
        comment = _text("\n".join(lines[at + 1 : end]) + "\n")
        begin = end + 1
        # The declaration ends where its braces and parentheses do.
        stop, depth = begin, 0
        while stop < len(lines):
            code = re.sub(r"/\*.*?\*/|^\s*\*.*|^\s*/\*\*", "", lines[stop])
            depth += code.count("{") - code.count("}") + code.count("(") - code.count(")")
            stop += 1
            if depth == 0 and (lines[begin].startswith("#define") or code.rstrip().endswith(";") and not code.startswith("#")):
                break
        declaration = _PREPROCESSOR.sub("", "\n".join(lines[begin:stop]) + "\n").strip("\n")
        declaration = re.sub(r"^(enum \w+)\n \{", r"\1 {", declaration)
        for title, pattern in SECTIONS:
            name = pattern.match(declaration)
            if name is not None:
                found[title].append((name["name"], comment, declaration))
                break
        at = stop
    return found


def page(header: str) -> str:
    """Returns the page in Markdown."""
    rules = re.search(r"^ \* Generated from .*?\n \*\n(?P<rules>.*?)^ \*/", header, re.MULTILINE | re.DOTALL)
    assert rules is not None, "the header begins with its rules"
    parts = [
        "# C\n",
        "Generated from `stackwright.h`, which `make install-c` installs. [Get started in C](../get-started/c.md) builds a program.\n",
        "The rules that hold for every function:\n",
        _text(rules["rules"]),
        "",
    ]
    for title, listed in entries(header).items():
        parts.append(f"\n## {title}\n")
        for name, comment, declaration in listed:
            parts.append(f"### `{name}` {{ #{name} }}\n\n{comment}\n\n```c\n{declaration}\n```\n")
    return "\n".join(parts)
