"""Makes the packages of a target from what is compiled: the wheel, the source distribution, the npm packages and the archive for C."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import notices
import sbom
from components import components
from targets import PRODUCTS, ROOT, Target, shipped, version

TEXTS = "THIRD-PARTY-LICENSES.txt"
BILL = "stackwright.cdx.json"
WORK = ROOT / "build" / "distribution"


@dataclass(frozen=True)
class Build:
    """How the packages of a target are compiled."""

    target: Target
    profile: str
    """`dev`, which shares what tests compile, or `release`."""
    zig: bool
    """Whether zig compiles C and links, for the oldest glibc of the target; a build without it needs the glibc of this machine."""

    @property
    def compiled(self) -> Path:
        """The folder of what cargo has compiled."""
        root = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        folder = "debug" if self.profile == "dev" else self.profile
        return root / self.target.triple / folder if self.zig else root / folder


def run(*command: str | Path, cwd: Path = ROOT, variables: dict[str, str] | None = None) -> None:
    """Runs a command; its failure ends this process."""
    ended = subprocess.run([str(part) for part in command], cwd=cwd, env={**os.environ, **(variables or {})}, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{Path(command[0]).name} failed with exit code {ended.returncode}")


def documents(product: str, purl: str, build: Build) -> Path:
    """Returns a folder with the licences and the bill of materials of a product. They are written anew where their sources have changed."""
    folder = WORK / product
    sources = [ROOT / "Cargo.lock", ROOT / "deny.toml", *sorted((ROOT / "distribution").glob("*.*")), *sorted(ROOT.glob("*/Cargo.toml"))]
    state = repr((purl, build.target, build.zig, sbom.source_date())).encode() + b"".join(source.read_bytes() for source in sources)
    key = hashlib.sha256(state).hexdigest()
    mark = folder / "key"
    if mark.is_file() and mark.read_text() == key and (folder / TEXTS).is_file() and (folder / BILL).is_file():
        return folder
    parts = components(product, build.target, build.zig)
    found = notices.problems(parts)
    if found:
        raise SystemExit("\n".join(found))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TEXTS).write_text(notices.document(parts), encoding="utf-8")
    (folder / BILL).write_text(sbom.document(purl, parts, build.target), encoding="utf-8")
    mark.write_text(key)
    return folder


def _python_documents(build: Build) -> Path:
    """Writes the documents of the wheel to where `pyproject.toml` names them, too: the source distribution contains them."""
    folder = documents("python", f"pkg:pypi/stackwright@{version()}", build)
    for name in (TEXTS, BILL):
        shutil.copyfile(folder / name, ROOT / name)
    return folder


def _maturin() -> list[str | Path]:
    return [Path(sys.executable).with_name("maturin")]


def wheel(build: Build, out: Path, together: bool = False) -> None:
    """Builds the wheel. `together` also compiles what the other products link, in the same environment."""
    folder = _python_documents(build)
    quiet: list[str] = [] if build.zig else ["--quiet"]
    command = [*_maturin(), "build", *quiet, "--profile", build.profile, "--interpreter", sys.executable, "--out", out, "--sbom-include", folder / BILL]
    # A quick build for tests; what is shipped has the smallest size.
    command += ["--compression-level", "1" if build.profile == "dev" else "9"]
    variables: dict[str, str] = {}
    if build.zig:
        command += ["--zig", "--target", build.target.triple, "--locked", "--auditwheel", "check"]
        if build.target.compatibility:
            command += ["--compatibility", build.target.compatibility]
        # maturin runs zig through the search path.
        variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if build.target.rustflags:
        variables["RUSTFLAGS"] = build.target.rustflags
    if together:
        packages = [f"--package {crate}" for product, crates in PRODUCTS.items() if product != "python" for crate in crates]
        variables["CARGO"] = str(ROOT / "distribution" / "cargo-together")
        variables["STACKWRIGHT_TOGETHER"] = " ".join([f"--profile {build.profile} --target {build.target.triple}", *packages])
    _clear(out, "*.whl")
    run(*command, variables=variables)


def sdist(build: Build, out: Path) -> None:
    """Builds the source distribution, which Rust and maturin alone can build."""
    _python_documents(build)
    _clear(out, "stackwright-*.tar.gz")
    run(*_maturin(), "sdist", "--out", out)


def npm(build: Build, out: Path) -> None:
    """Packs the npm packages: the one that is installed, and that of the target with its native module, in the layout of napi."""
    stage = WORK / "npm"
    shutil.rmtree(stage, ignore_errors=True)
    _clear(out, "*.tgz")
    for folder in (main_package(stage / "stackwright"), _platform_package(stage / build.target.npm_name, build)):
        run("npm", "pack", "--silent", "--pack-destination", out, cwd=folder)


def main_manifest() -> dict[str, Any]:
    """Returns the `package.json` that is published: that of the checkout without what only a checkout needs, and with the packages of the platforms."""
    manifest: dict[str, Any] = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    for name in ("devDependencies", "scripts", "napi"):
        manifest.pop(name)
    manifest["version"] = version()
    manifest["files"] = [*(pattern for pattern in manifest["files"] if not pattern.endswith(".node")), BILL]
    manifest["optionalDependencies"] = {target.npm_package: version() for target in shipped()}
    return manifest


def main_package(folder: Path) -> Path:
    """Writes the npm package that is installed into a folder, and returns that."""
    manifest = main_manifest()
    for pattern in manifest["files"]:
        source = ROOT / pattern
        place = folder / pattern
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place)
        elif pattern != BILL:
            shutil.copyfile(source, place)
    # Nothing of others is in it; the packages of the platforms have bills of their own.
    (folder / BILL).write_text(sbom.document(f"pkg:npm/stackwright@{version()}", [], None), encoding="utf-8")
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    shutil.copyfile(ROOT / "bindings-node" / "README.md", folder / "README.md")
    _write_json(folder / "package.json", manifest)
    return folder


def platform_manifest(target: Target) -> dict[str, Any]:
    """Returns the `package.json` of the package with the native module of a target."""
    published = main_manifest()
    module = f"stackwright.{target.npm_name}.node"
    return {
        "name": target.npm_package,
        "version": version(),
        "description": f"The native module of the package stackwright for {target.triple}.",
        "license": published["license"],
        "main": module,
        "files": [module, TEXTS, BILL],
        "engines": published["engines"],
        **target.npm_selectors,
    }


def _platform_package(folder: Path, build: Build) -> Path:
    target = build.target
    folder.mkdir(parents=True)
    manifest = platform_manifest(target)
    _write_json(folder / "package.json", manifest)
    shutil.copyfile(build.compiled / target.shared("stackwright_node"), folder / manifest["main"])
    source = documents("node", f"pkg:npm/{target.npm_package.replace('@', '%40')}@{version()}", build)
    for name in (TEXTS, BILL):
        shutil.copyfile(source / name, folder / name)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    (folder / "README.md").write_text(f"# {target.npm_package}\n\n{manifest['description']} It is installed together with that package.\n", encoding="utf-8")
    return folder


def c_name(target: Target) -> str:
    """Returns the name of the archive for C, and of the folder in it."""
    return f"stackwright-c-{version()}-{target.triple}"


def c(build: Build, out: Path) -> None:
    """Packs the archive for C: header, libraries, pkg-config and CMake files, and the command. It can be unpacked anywhere."""
    if build.target.system != "linux":
        raise SystemExit(f"bindings-c/packaging/install does not describe the libraries of {build.target.system}")
    name = c_name(build.target)
    prefix = WORK / "c-prefix" / name
    shutil.rmtree(prefix.parent, ignore_errors=True)
    source = documents("c", f"pkg:generic/stackwright-c@{version()}", build)
    run(ROOT / "bindings-c" / "packaging" / "install", prefix, build.compiled, version(), source)
    if build.profile != "dev":
        # The standard library is delivered with information for debuggers, which nothing else here has.
        run("strip", "--strip-debug", prefix / "lib" / build.target.static("stackwright"))
    _clear(out, "stackwright-c-*.tar.gz")
    out.mkdir(parents=True, exist_ok=True)
    _archive(prefix, out / f"{name}.tar.gz", level=1 if build.profile == "dev" else 9)


def _archive(folder: Path, file: Path, level: int) -> None:
    """Writes an archive whose bytes depend on the contents alone."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.mtime = sbom.source_date()
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        return entry

    with open(file, "wb") as raw, gzip.GzipFile("", "wb", level, raw, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted([folder, *folder.rglob("*")]):
            archive.add(path, str(path.relative_to(folder.parent)), recursive=False, filter=plain)


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=4, ensure_ascii=False) + "\n", encoding="utf-8")


def _clear(folder: Path, pattern: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob(pattern):
        file.unlink()

