"""The build description: the products, the targets, and the version of all of them.

``targets.json`` is the one list of targets. A target of the status ``tested`` is built, installed and run by this repository; one that is
``described`` has all that a build needs, but has not been built, and no package names it.
"""

from __future__ import annotations

import json
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DESCRIPTION: dict[str, Any] = json.loads((ROOT / "distribution" / "targets.json").read_text(encoding="utf-8"))
PRODUCTS: dict[str, list[str]] = DESCRIPTION["products"]
"""The crates that each product links."""
WHEEL_LIMIT: int = DESCRIPTION["limits"]["wheel"]
"""The size of a wheel, in bytes."""
NPM_SCOPE: str = DESCRIPTION["npm_scope"]
SUMMARY = "An infrastructure deployment engine that runs inside the caller's process and speaks the Pulumi protocols."


@dataclass(frozen=True)
class Target:
    """A system, a processor and an ABI that packages are built for."""

    triple: str
    status: str
    system: str
    """The system, as Node names it: `linux`, `darwin` or `win32`."""
    processor: str
    """The processor, as Node names it: `x64` or `arm64`."""
    wheel: str
    """The platform tag of the wheel."""
    abi: str | None = None
    glibc: str | None = None
    """The oldest version of glibc that the libraries need."""
    zig: bool = False
    """Whether `zig` compiles C and links."""
    rustflags: str | None = None

    @property
    def npm_name(self) -> str:
        """The last part of the name of the npm package: `linux-x64-gnu`."""
        return "-".join(filter(None, (self.system, self.processor, self.abi)))

    @property
    def npm_package(self) -> str:
        return f"{NPM_SCOPE}/{self.npm_name}"

    @property
    def npm_selectors(self) -> dict[str, list[str]]:
        """The members of `package.json` by which npm selects the package."""
        libc = {"gnu": "glibc", "musl": "musl"}.get(self.abi or "")
        return {"os": [self.system], "cpu": [self.processor], **({"libc": [libc]} if libc else {})}

    @property
    def compatibility(self) -> str | None:
        """The policy for maturin: `manylinux_2_28`. Only Linux has one."""
        return self.wheel.removesuffix(f"_{self.triple.partition('-')[0]}") if self.system == "linux" else None

    def shared(self, name: str) -> str:
        """Returns the file name of a shared library."""
        return {"linux": f"lib{name}.so", "darwin": f"lib{name}.dylib", "win32": f"{name}.dll"}[self.system]

    def static(self, name: str) -> str:
        """Returns the file name of a static library."""
        return f"{name}.lib" if self.system == "win32" else f"lib{name}.a"

    def program(self, name: str) -> str:
        """Returns the file name of an executable."""
        return f"{name}.exe" if self.system == "win32" else name


TARGETS = [Target(**entry) for entry in DESCRIPTION["targets"]]


def shipped() -> list[Target]:
    """Returns the targets whose packages exist."""
    return [target for target in TARGETS if target.status == "tested"]


def target_of(triple: str) -> Target:
    """Returns the target of a triple."""
    for target in TARGETS:
        if target.triple == triple:
            return target
    raise SystemExit(f"{triple} is no target of distribution/targets.json: {', '.join(target.triple for target in TARGETS)}")


def host() -> Target:
    """Returns the target that this process runs on."""
    processor = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    abi = {"linux": "gnu" if platform.libc_ver()[0] == "glibc" else "musl", "win32": "msvc"}.get(sys.platform)
    for target in TARGETS:
        if (target.system, target.processor, target.abi) == (sys.platform, processor, abi):
            return target
    raise SystemExit(f"distribution/targets.json does not describe {sys.platform} on {platform.machine()}")


def version() -> str:
    """Returns the version of the workspace, which is that of every package."""
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'(?ms)^\[workspace\.package\]$.*?^version = "([^"]+)"$', manifest)
    if found is None:
        raise SystemExit("Cargo.toml has no version in [workspace.package]")
    return found[1]
