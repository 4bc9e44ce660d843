"""Runs the blocks of a page in a new folder, one after the other, as a reader does.

The folder has the checkout under the name ``stackwright``. Folder and variables of a shell are kept from block to block. What would
build the library is not built again: ``make`` checks that its targets exist, and ``make install-c`` links what is installed. The wheel and
the npm package are installed as readers do, and packages of registries are taken from where the tests and the checkout have them.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from blocks import ROOT, RUN, Block, output_matches

COMPILES = os.environ.get("STACKWRIGHT_DOCS_CARGO") == "run"
"""Whether blocks with `cargo run` compile the engine and run."""

DEADLINE = 1_200 if COMPILES else 120
"""How long one block may run, in seconds."""

STUBS = Path(__file__).resolve().with_name("stubs")
"""Parts of packages whose services are elsewhere: boto3 and azure.identity, and for Node the client of AWS KMS."""

_MAKE = """\
#!/bin/sh
# Checks the targets; nothing is built.
set -eu
{make} --dry-run "$@" > /dev/null
for argument in "$@"; do
    case $argument in PREFIX={work}/*) mkdir -p "$(dirname "${{argument#PREFIX=}}")" && ln -sfn {root}/build/c "${{argument#PREFIX=}}" ;; esac
done
"""


_PYTHON3 = """\
#!/bin/sh
# In a virtual environment, what the tests run with counts as installed, so that nothing is downloaded.
set -eu
{python} "$@"
if [ "$*" = "-m venv venv" ]; then
    echo {packages} > "$(echo venv/lib/python3.*/site-packages)/tests.pth"
fi
"""

_NPM = """\
#!/bin/sh
# Installs packages that are files, and links those of the registry to the ones of the checkout.
set -eu
for argument; do
    shift
    case $argument in
    @pulumi/*|@types/*|typescript*) linked=${{argument%@[0-9]*}}; test -d {root}/node_modules/$linked ;;
    *) set -- "$@" "$argument" ;;
    esac
done
case "$*" in *.tgz*|init*|*test*) {npm} "$@" ;; esac
if [ -n "${{linked:-}}" ]; then
    mkdir -p node_modules/.bin
    for module in @pulumi @types typescript; do ln -sfn {root}/node_modules/$module node_modules/$module; done
    ln -sf ../typescript/bin/tsc node_modules/.bin/tsc
fi
"""

_CARGO = """\
#!/bin/sh
# Checks the manifest and that the sources can be parsed. STACKWRIGHT_DOCS_CARGO=run compiles and runs: without it, the tests of rustdoc
# in testkit do that with the same block.
set -eu
export HOME={home} RUSTUP_TOOLCHAIN={toolchain}
if [ "${{STACKWRIGHT_DOCS_CARGO:-}}" = run ]; then
    CARGO_TARGET_DIR={root}/target/docs exec {cargo} "$@"
fi
{cargo} metadata --no-deps --offline --format-version 1 > /dev/null
{rustfmt} --edition 2024 src/main.rs
"""


class BlockError(AssertionError):
    """A block failed, or its output is another one."""


def _shown(block: Block) -> str:
    """Returns a file as readers see it: lines that begin with `#` are those that rustdoc hides."""
    text = block.program()
    return re.sub(r"(?m)^# .*\n", "", text) if block.language == "rust" else text


class Player:
    """The folder, the variables and the output so far of the page that is played."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.programs = folder / "programs"
        for each in (self.home, self.work, self.programs):
            each.mkdir(parents=True)
        (self.work / "stackwright").symlink_to(ROOT)
        modules = self.work / "node_modules"
        modules.mkdir()
        (modules / "stackwright").symlink_to(ROOT)
        for module in ("@pulumi", "@types", "typescript"):
            (modules / module).symlink_to(ROOT / "node_modules" / module)
        cargo = self.programs / "cargo"
        toolchain = re.search(r'channel = "(.*)"', (ROOT / "rust-toolchain.toml").read_text())
        assert toolchain is not None
        paths = {"cargo": shutil.which("cargo"), "rustfmt": shutil.which("rustfmt"), "root": ROOT, "home": Path.home()}
        cargo.write_text(_CARGO.format(toolchain=toolchain[1], **{name: shlex.quote(str(path)) for name, path in paths.items()}))
        cargo.chmod(0o755)
        python3 = self.programs / "python3"
        system = Path(sys.base_prefix, "bin", "python3")
        python3.write_text(_PYTHON3.format(python=shlex.quote(str(system)), packages=shlex.quote(str(self._packages()))))
        npm = self.programs / "npm"
        npm.write_text(_NPM.format(root=shlex.quote(str(ROOT)), npm=shlex.quote(str(shutil.which("npm")))))
        for program in (python3, npm):
            program.chmod(0o755)
        (modules / "@aws-sdk").symlink_to(STUBS / "node" / "@aws-sdk")
        make = self.programs / "make"
        make.write_text(_MAKE.format(make=shutil.which("make"), root=shlex.quote(str(ROOT)), work=shlex.quote(str(self.work))))
        make.chmod(0o755)
        python = self.programs / "python"
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
        self.folder = self.work
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "AWS_", "STACKWRIGHT_TEST_"))}
        path = os.pathsep.join([str(self.programs), str(Path(shutil.which("node") or "").parent), "/usr/local/bin", "/usr/bin", "/bin"])
        self.variables = {
            **kept,
            "HOME": str(self.home),
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([str(STUBS), str(ROOT / "examples" / "python")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "NO_COLOR": "1",
            # What is downloaded is kept, although each page has a home of its own.
            "PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"),
            "npm_config_cache": str(Path.home() / ".npm"),
            "npm_config_prefer_offline": "true",
        }
        self.number = 0

    def _packages(self) -> Path:
        """Links the installed packages but this one, whose wheel a page installs."""
        packages = self.programs / "site-packages"
        packages.mkdir()
        for place in Path(sysconfig.get_path("purelib")).iterdir():
            if not place.name.startswith("stackwright"):
                (packages / place.name).symlink_to(place)
        return packages

    def play(self, block: Block) -> None:
        """Runs a block, or writes it to its file."""
        self.number += 1
        if block.file is not None:
            place = self.folder / block.file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(_shown(block), encoding="utf-8")
            return
        if block.language == "rust":
            # Compiled and run by rustdoc: testkit/src/documents.rs.
            return
        output = getattr(self, f"_{block.language}")(block)
        if block.language == "sh" and not COMPILES and re.search(r"(?m)^cargo run\b", block.text):
            # The program does not run, and has no output to compare.
            return
        if block.output is not None and not output_matches(block.output, output):
            raise BlockError(f"{block.place}: the output is another one:\n{output}")

    def _source(self, block: Block) -> Path:
        if self.folder.resolve().is_relative_to(ROOT):
            raise BlockError(f"{block.place}: the block would be run inside the checkout")
        place = self.folder / f"block_{self.number}.{RUN[block.language]}"
        place.write_text(block.program(), encoding="utf-8")
        return place

    def _run(self, block: Block, *command: str) -> str:
        try:
            ended = subprocess.run(
                command,
                cwd=self.folder,
                env=self.variables,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=DEADLINE,
                check=False,
            )
        except subprocess.TimeoutExpired as expired:
            raise BlockError(f"{block.place}: still running after {DEADLINE} s:\n{expired.stdout}\n{expired.stderr}") from None
        if ended.returncode != 0:
            raise BlockError(f"{block.place}: exit code {ended.returncode}:\n{ended.stdout}\n{ended.stderr}")
        return ended.stdout

    def _python(self, block: Block) -> str:
        return self._run(block, sys.executable, self._source(block).name)

    def _js(self, block: Block) -> str:
        return self._run(block, "node", self._source(block).name)

    def _ts(self, block: Block) -> str:
        source = self._source(block)
        # A module of ECMAScript, as the package's own users write it.
        module = source.with_suffix(".mts")
        source.rename(module)
        self._run(
            block, "node", str(ROOT / "node_modules" / "typescript" / "bin" / "tsc"), "--strict", "--target", "es2022", "--module", "node16",
            "--lib", "es2023,esnext.disposable", "--types", "node", "--skipLibCheck", module.name,
        )  # fmt: skip
        return self._run(block, "node", module.with_suffix(".mjs").name)

    def _c(self, block: Block) -> str:
        source = self._source(block)
        prefix = ROOT / "build" / "c"
        program = source.with_suffix("")
        flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include"]
        library = [f"-L{prefix}/lib", f"-Wl,-rpath,{prefix}/lib", "-lstackwright"]
        self._run(block, "cc", *flags, source.name, "-o", program.name, *library)
        return self._run(block, f"./{program.name}")

    def _sh(self, block: Block) -> str:
        # Not in the folder of the page: a shell may be in the checkout.
        source = self.programs / f"block_{self.number}.sh"
        ends = f"trap 'pwd > {shlex.quote(str(self.home / 'folder'))}; env -0 > {shlex.quote(str(self.home / 'variables'))}' EXIT\n"
        source.write_text(ends + block.program(), encoding="utf-8")
        output = self._run(block, "bash", "-euo", "pipefail", str(source))
        self.folder = Path((self.home / "folder").read_text().strip())
        pairs = (self.home / "variables").read_text().split("\0")
        self.variables = {name: value for name, _, value in (pair.partition("=") for pair in pairs if pair)}
        return output
