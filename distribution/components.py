"""What a product contains besides this project: crates, the graph library of the pages, the standard library of Rust, and the parts of zig."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from targets import PRODUCTS, ROOT, Target

TEXT = re.compile(r"(?i)(licen[sc]e|copying|copyright|notice|unlicense)")
"""The names of files with licence texts."""
OUTSIDE = {"tests", "test", "benches", "examples", "fuzz", "docs", "doc", "testdata", "target"}
"""Folders of a crate that are not compiled."""
CODE = {".rs", ".c", ".h", ".py", ".pl", ".go", ".json", ".toml", ".html", ".yml", ".yaml", ".sh"}


@dataclass
class Component:
    """A part that is not this project's."""

    name: str
    version: str
    purl: str
    licence: str
    """An SPDX expression."""
    texts: list[str]
    description: str | None = None
    source: str | None = None
    sha256: str | None = None
    authors: list[str] = field(default_factory=list)
    compiled: bool = True
    """Whether its code is in the product; macros only run while the product is compiled."""
    needs: list[str] = field(default_factory=list)
    """The `purl` of each component that it uses."""


def _metadata(target: Target) -> dict[str, Any]:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target.triple]
    loaded: dict[str, Any] = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    return loaded


def _checksums() -> dict[tuple[str, str], str]:
    """Returns the SHA-256 of each crate's archive, from the lock file."""
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    entries = re.findall(r'\[\[package\]\]\nname = "(.+)"\nversion = "(.+)"\nsource = ".+"\nchecksum = "([0-9a-f]{64})"', lock)
    return {(name, version): digest for name, version, digest in entries}


def _normalized(text: str) -> str:
    """Returns a text whose differences in white space at the ends of lines are removed, so that equal licences are equal."""
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").replace("\t", "    ").split("\n")).strip("\n") + "\n"


def _texts(folder: Path) -> list[str]:
    """Returns the licence texts of a crate, also of the sources in other languages that it brings."""
    found = []
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder).parts
        if not file.is_file() or OUTSIDE.intersection(inside[:-1]) or file.suffix in CODE or not TEXT.search(file.name):
            continue
        found.append(_normalized(file.read_text(encoding="utf-8", errors="replace")))
    return list(dict.fromkeys(found))


def _standard_text(expression: str, authors: list[str]) -> list[str]:
    """Returns the text of a licence for a crate that has none in its archive."""
    if "Apache-2.0" in expression:
        return [_normalized((ROOT / "LICENSE").read_text(encoding="utf-8"))]
    if "MIT" in re.split(r"[^A-Za-z0-9.-]+", expression):
        holders = ", ".join(re.sub(r" <.*>", "", author) for author in authors) or "its authors"
        template = (ROOT / "distribution" / "licenses" / "MIT.txt").read_text(encoding="utf-8")
        return [_normalized(template.replace("<holders>", holders))]
    return []


def crates(product: str, target: Target) -> list[Component]:
    """Returns the crates that a product links, and the macros among their dependencies."""
    metadata = _metadata(target)
    packages = {package["id"]: package for package in metadata["packages"]}
    uses = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
        for node in metadata["resolve"]["nodes"]
    }
    members = set(metadata["workspace_members"])
    roots = [identity for identity in members if packages[identity]["name"] in PRODUCTS[product]]

    def macro(identity: str) -> bool:
        return any("proc-macro" in each["kind"] for each in packages[identity]["targets"])

    def reached(through_macros: bool) -> set[str]:
        seen: set[str] = set()
        waiting = list(roots)
        while waiting:
            identity = waiting.pop()
            if identity not in seen:
                seen.add(identity)
                if through_macros or not macro(identity):
                    waiting.extend(uses[identity])
        return seen

    compiled = {identity for identity in reached(through_macros=False) if not macro(identity)}
    checksums = _checksums()
    found = []
    for identity in sorted(reached(through_macros=True) - members, key=lambda each: (packages[each]["name"], packages[each]["version"])):
        package = packages[identity]
        name, version = package["name"], package["version"]
        expression = (package["license"] or "").replace("/", " OR ")
        texts = _texts(Path(package["manifest_path"]).parent) or _standard_text(expression, package["authors"])
        found.append(
            Component(
                name,
                version,
                _purl(package),
                expression,
                texts,
                description=" ".join((package["description"] or "").split()) or None,
                source=package["repository"],
                sha256=checksums.get((name, version)),
                authors=package["authors"],
                compiled=identity in compiled,
                needs=sorted({_purl(packages[each]) for each in uses[identity] if each not in members}),
            )
        )
    return found


def _purl(package: dict[str, Any]) -> str:
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"


def graph_library() -> Component:
    """Returns the library that draws the pages of graphs. Its licences are the comments of the file itself."""
    source = (ROOT / "core" / "src" / "picture" / "page" / "cytoscape.min.js").read_text(encoding="utf-8")
    version = re.search(r'\.version="([0-9.]+)"', source)
    comments = re.findall(r"/\*[*!].*?\*/", source, re.DOTALL)
    if version is None or not comments or "Cytoscape" not in comments[0]:
        raise SystemExit("cytoscape.min.js has no version, or does not begin with its licence")
    texts = [_normalized(re.sub(r"(?m)^ ?\*( |$)", "", each.strip("/").strip("*!"))) for each in comments]
    return Component(
        "cytoscape", version[1], f"pkg:npm/cytoscape@{version[1]}", "MIT", texts, "Graph theory (network) library", "https://js.cytoscape.org"
    )


def standard_library() -> Component:
    """Returns the standard library of Rust, which has the choice of Apache-2.0."""
    text = subprocess.run(["rustc", "--version"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    version = text.split()[1]
    apache = _normalized((ROOT / "LICENSE").read_text(encoding="utf-8"))
    return Component("rust-std", version, f"pkg:generic/rust-std@{version}", "MIT OR Apache-2.0", [apache], "The standard library of Rust", "https://www.rust-lang.org")


def linked_by_zig() -> list[Component]:
    """Returns what zig adds to a library that it links: functions that processors lack, and the unwinder of LLVM."""
    package = find_spec("ziglang")
    if package is None or package.origin is None:
        raise SystemExit("ziglang is missing: pip install --requirement distribution/requirements.txt")
    folder = Path(package.origin).parent
    command = [str(folder / "zig"), "version"]
    version = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    parts = [
        ("zig-compiler-rt", "MIT", folder / "LICENSE", "Functions that processors lack"),
        ("llvm-libunwind", "Apache-2.0 WITH LLVM-exception", folder / "lib" / "libunwind" / "LICENSE.TXT", "The unwinder of LLVM, as zig brings it"),
    ]
    return [
        Component(name, version, f"pkg:generic/{name}@{version}", licence, [_normalized(text.read_text(encoding="utf-8"))], description, "https://ziglang.org")
        for name, licence, text, description in parts
    ]


def components(product: str, target: Target, zig: bool) -> list[Component]:
    """Returns all parts of a product that are not this project's; `zig` is whether zig links it."""
    return [*crates(product, target), graph_library(), standard_library(), *(linked_by_zig() if zig else [])]
