"""The examples of docstrings: those in Python run, and those in TypeScript are checked by the compiler.

``examples.py`` has the programs around them. An example without one fails.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from blocks import ROOT
from docstrings import converted
from examples import DECLARED, PYTHON, REPLACED, TYPESCRIPT, put
from play import STUBS

PACKAGE = ROOT / "bindings-python" / "python" / "stackwright"
LIBRARY = ROOT / "bindings-node" / "lib"
GENERATED = {"documents.ts", "event.ts"}
"""From the sources of the engine, whose examples rustdoc runs."""


def _numbered(name: str, examples: list[str]) -> Iterator[tuple[str, str]]:
    for number, example in enumerate(examples, 1):
        yield (name if number == 1 else f"{name}#{number}"), example


def _documented(module: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yields names with their docstrings, also those of attributes, which stand behind them."""
    body = getattr(module, "body", [])
    for at, statement in enumerate(body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str):
            before = body[at - 1] if at else None
            target = before.target if isinstance(before, ast.AnnAssign) else before.targets[0] if isinstance(before, ast.Assign) else None
            yield name if target is None else f"{name}.{ast.unparse(target)}".lstrip("."), statement.value.value
        elif isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _documented(statement, f"{name}.{statement.name}".lstrip("."))


def python_examples() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted([*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")]):
        module = ".".join(part for part in path.relative_to(PACKAGE).with_suffix("").parts if part != "__init__")
        for name, text in _documented(ast.parse(path.read_text(encoding="utf-8")), module):
            found.update(_numbered(name, re.findall(r"^```python\n(.*?)\n```$", converted(_cleaned(text)), re.MULTILINE | re.DOTALL)))
    return found


def _cleaned(docstring: str) -> str:
    first, newline, rest = docstring.partition("\n")
    return first.strip() + newline + textwrap.dedent(rest)


def typescript_examples() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in sorted(LIBRARY.rglob("*.ts")):
        if path.name in GENERATED:
            continue
        for comment in re.finditer(r"^ */\*\*(?P<text>.*?)\*/\n(?P<next>[^\n]*)", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            text = re.sub(r"(?m)^ *\* ?", "", comment["text"])
            examples = re.findall(r"^```[^\n]*\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
            named = re.match(r"\s*(?:export |static |async |override |abstract |default )*(?:class |function |const |interface |type )?(\w+)", comment["next"])
            name = named[1] if named and not comment["next"].startswith("import") else ""
            found.update(_numbered(f"{path.relative_to(LIBRARY)}: {name}", examples))
    return found


EXAMPLES = python_examples()
OF_NODE = typescript_examples()


def program_of(programs: dict[str, str], name: str, example: str) -> str:
    """Returns an example with what surrounds it."""
    assert name in programs, f"the example of {name} has no program in docs/tests/examples.py"
    assert re.search(r"(?m)^\s*EXAMPLE$", programs[name]), f"the program of {name} has no line EXAMPLE"
    before, after = REPLACED.get(name, ("", ""))
    return put(programs[name], EXAMPLE=example.replace(before, after) if before else example)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_in_python_runs(name: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "state").mkdir()
    (work / "example.py").write_text(program_of(PYTHON, name, EXAMPLES[name]), encoding="utf-8")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "AWS_", "STACKWRIGHT_"))}
    variables = {**kept, "HOME": str(tmp_path), "PYTHONPATH": str(STUBS), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    variables["PULUMI_CONFIG_PASSPHRASE"] = "correct horse"
    ended = subprocess.run(
        [sys.executable, "example.py"], cwd=work, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the compiler finds in each example."""
    folder = tmp_path_factory.mktemp("examples")
    modules = folder / "node_modules"
    modules.mkdir()
    (modules / "stackwright").symlink_to(ROOT)
    for module in ("@pulumi", "@types", "fast-check", "typescript"):
        (modules / module).symlink_to(ROOT / "node_modules" / module)
    (folder / "declared.d.ts").write_text(DECLARED, encoding="utf-8")
    files = {f"example_{number}.mts": name for number, name in enumerate(sorted(OF_NODE.keys() & TYPESCRIPT.keys()))}
    for file, name in files.items():
        (folder / file).write_text(program_of(TYPESCRIPT, name, OF_NODE[name]) + "\nexport {};\n", encoding="utf-8")
    ended = subprocess.run(
        ["node", str(ROOT / "node_modules" / "typescript" / "bin" / "tsc"), "--noEmit", "--strict", "--target", "es2022", "--module", "node16",
         "--lib", "es2023,esnext.disposable", "--types", "node", "--skipLibCheck", "--pretty", "false", "declared.d.ts", *files],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    lines = ended.stdout.splitlines()
    found = {name: "\n".join(line for line in lines if line.startswith(file)) for file, name in files.items()}
    assert (ended.returncode == 0) == (not any(found.values())), ended.stdout + ended.stderr
    return found


@pytest.mark.parametrize("name", OF_NODE)
def test_the_example_in_typescript_is_compiled(name: str, compiled: dict[str, str]) -> None:
    program_of(TYPESCRIPT, name, OF_NODE[name])
    assert compiled[name] == ""


def test_no_program_is_left_of_an_example_that_is_gone() -> None:
    assert len(EXAMPLES) > 20 and len(OF_NODE) > 8
    assert set(PYTHON) - set(EXAMPLES) == set()
    assert set(TYPESCRIPT) - set(OF_NODE) == set()


def test_an_example_without_a_program_fails_by_its_name() -> None:
    with pytest.raises(AssertionError, match="the example of picture.Picture.there has no program"):
        program_of(PYTHON, "picture.Picture.there", "pass")
