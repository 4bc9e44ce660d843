"""Programs in the folders of projects, which stacks of our own API run in processes of their own."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import stackwright as sw

from conftest import ROOT, MakeEngine, Memory, missing, on_loop

DEADLINE = 60
"""How long a test waits, in seconds."""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a project with a program in Python."""
    folder = tmp_path / "shop"
    folder.mkdir()

    def write(program: str) -> Path:
        options = f"  options:\n    virtualenv: {sys.prefix}\n"
        (folder / "Pulumi.yaml").write_text(f"name: shop\nruntime:\n  name: python\n{options}")
        (folder / "__main__.py").write_text(program)
        return folder

    return write


def is_running(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@on_loop
async def test_a_stack_runs_the_program_of_its_project(write: Write, make_engine: MakeEngine, memory: Memory) -> None:
    folder = write(
        "import os, pulumi\n"
        "thing = pulumi.CustomResource('mem:index:Thing', 'thing', {'size': pulumi.Config().require_int('size')})\n"
        "print('made by', os.path.basename(os.getcwd()))\n"
        "pulumi.export('token', os.environ['SHOP_TOKEN'])\n"
        "pulumi.export('process', os.getpid())\n"
        "pulumi.export('id', thing.id)\n"
    )
    async with make_engine(mem=memory) as engine:
        project = await engine.project(folder)
        await project.set_config("dev", "size", "3")
        stack = await engine.stack("dev", project=project, program_environment={"SHOP_TOKEN": "hush"})
        assert (await stack.preview()).changes == {"create": 2}
        texts: list[str] = []
        result = await stack.up(on_event=lambda event: texts.append(str(event)))
        assert result.outputs["id"].value == "thing-1" and result.outputs["token"].value == "hush"
        assert any("made by shop" in text for text in texts)
        assert not is_running(int(str(result.outputs["process"].value)))
        assert memory.things == {"thing-1": {"size": 3.0}}
        assert (await stack.destroy()).changes == {"delete": 2}


@on_loop
async def test_a_program_of_the_call_takes_the_place_of_that_of_the_folder(write: Write, make_engine: MakeEngine) -> None:
    folder = write("raise ValueError('it runs')\n")
    async with make_engine() as engine:
        stack = await engine.stack("dev", project=folder)
        result = await stack.up(program=lambda ctx: ctx.export("own", True))
        assert result.outputs["own"].value is True
        stack = await engine.stack("dev", lambda ctx: ctx.export("own", 1), project=folder)
        assert (await stack.up()).outputs["own"].value == 1


@on_loop
async def test_a_program_that_crashes_or_exits_fails_with_its_last_lines(write: Write, make_engine: MakeEngine) -> None:
    async with make_engine() as engine:

        async def failed(program: str) -> sw.StackwrightError:
            stack = await engine.stack("dev", project=write(program))
            with pytest.raises(sw.ProgramError) as caught:
                await stack.up()
            return caught.value

        error = await failed("def wrong():\n    raise ValueError('it is wrong')\nwrong()\n")
        assert "ValueError: it is wrong" in str(error)
        error = await failed("import sys\nprint('one')\nprint('two', file=sys.stderr)\nsys.exit(3)\n")
        assert "program exited with non-zero exit code: 3" in str(error)
        assert any("its last lines:" in hint and "two" in hint for hint in error.hints)
        error = await failed("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
        assert "the program was ended by the signal 9" in str(error)


@on_loop
async def test_a_program_that_hangs_is_gone_after_a_cancellation(write: Write, make_engine: MakeEngine, tmp_path: Path) -> None:
    noted = tmp_path / "processes"
    folder = write(
        "import os, signal, subprocess, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(noted)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('waiting', flush=True)\n"
        "time.sleep(1000)\n"
    )
    async with make_engine() as engine:
        stack = await engine.stack("dev", project=folder)
        waits = asyncio.Event()
        operation = stack.up(on_event=lambda event: waits.set() if "waiting" in str(event) else None)
        await asyncio.wait_for(waits.wait(), DEADLINE)
        operation.cancel()
        with pytest.raises(sw.CancelledError):
            await asyncio.wait_for(operation, DEADLINE)
        assert not [process for process in noted.read_text().split() if is_running(int(process))]


@on_loop
async def test_a_flood_of_output_arrives_and_a_long_line_is_cut(write: Write, make_engine: MakeEngine) -> None:
    folder = write("for number in range(20_000):\n    print('line', number)\nprint('word ' * 100_000)\nprint('the end')\n")
    async with make_engine() as engine:
        stack = await engine.stack("dev", project=folder)
        texts: list[str] = []
        await stack.up(on_event=lambda event: texts.append(str(event)))
        assert any("line 19999" in text for text in texts) and any("the end" in text for text in texts)
        long = [text for text in texts if "word word" in text]
        assert len(long) == 1 and "bytes of this line are left out" in long[0] and len(long[0]) < 150_000


@on_loop
async def test_what_a_program_needs_is_named(write: Write, make_engine: MakeEngine) -> None:
    folder = write("")
    async with make_engine() as engine:
        stack = await engine.stack("dev", project=folder)
        (folder / "Pulumi.yaml").write_text("name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv\n")
        with pytest.raises(sw.ProgramError, match="the virtual environment .*/shop/venv does not exist"):
            await stack.up()
        (folder / "Pulumi.yaml").write_text("name: shop\nruntime: yaml\n")
        with pytest.raises(sw.PluginError, match="pulumi-language-yaml"):
            await stack.up()
        with pytest.raises(sw.InvalidInputError, match="program_environment"):
            await engine.stack("shop/dev", program_environment={"A": "b"})


@on_loop
async def test_a_program_in_javascript_runs_as_well(make_engine: MakeEngine, tmp_path: Path) -> None:
    modules = ROOT / "node_modules"
    if shutil.which("node") is None or not modules.exists():
        missing("node, or its packages")
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "node_modules").symlink_to(modules)
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime: nodejs\n")
    (folder / "index.js").write_text("exports.stack = require('@pulumi/pulumi').getStack();\n")
    async with make_engine() as engine:
        result = await (await engine.stack("dev", project=folder)).up()
        assert result.outputs["stack"].value == "dev"
