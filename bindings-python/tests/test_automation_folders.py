"""Programs of folders over the Automation API: each run is a process of its own."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pulumi
import pytest
import stackwright as sw
from stackwright import automation as auto

from conftest import ROOT, MakeEngine, Memory, missing

DEADLINE = 60
"""How long a test waits, in seconds."""

Write = Callable[..., auto.Stack]


@pytest.fixture
def write(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> Write:
    """Writes a project with a program, and opens its stack."""
    command = auto.Command(make_engine(mem=memory))
    folder = tmp_path / "shop"
    folder.mkdir()
    options = f"  options:\n    virtualenv: {sys.prefix}\n"

    def write(program: str, main: str = "__main__.py", settings: str = "", **files: str) -> auto.Stack:
        (folder / "Pulumi.yaml").write_text(f"name: shop\nruntime:\n  name: python\n{options}{settings}")
        for name, text in {main: program, **{f"{name}.py": text for name, text in files.items()}}.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        opts = auto.LocalWorkspaceOptions(
            pulumi_command=command, env_vars={"PULUMI_HOME": str(tmp_path / "home"), "SHOP_TOKEN": "from the workspace"}
        )
        return auto.create_or_select_stack("dev", work_dir=str(folder), opts=opts)

    return write


def is_running(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_the_program_of_a_folder_deploys_with_its_modules_configuration_and_variables(write: Write, memory: Memory) -> None:
    stack = write(
        "import os, sys\n"
        "import pulumi, parts\n"
        "config = pulumi.Config()\n"
        "thing = parts.thing(config.require_int('size'))\n"
        "print('made by', os.path.basename(os.getcwd()))\n"
        "print('a warning', file=sys.stderr)\n"
        "pulumi.export('token', os.environ['SHOP_TOKEN'])\n"
        "pulumi.export('password', config.require_secret('password'))\n"
        "pulumi.export('id', thing.id)\n",
        parts="import pulumi\n"
        "def thing(size):\n"
        "    return pulumi.CustomResource('mem:index:Thing', 'thing', {'size': size})\n",
    )
    stack.set_config("size", auto.ConfigValue("3"))
    stack.set_config("password", auto.ConfigValue("hush", secret=True))
    assert stack.preview().change_summary == {"create": 2}
    up = stack.up()
    assert {name: (output.value, output.secret) for name, output in up.outputs.items()} == {
        "id": ("thing-1", False),
        "password": ("hush", True),
        "token": ("from the workspace", False),
    }
    assert "made by shop" in up.stdout and "a warning" in up.stdout
    assert up.summary.environment["exec.kind"] == "auto.local"
    assert memory.things == {"thing-1": {"size": 3.0}}
    assert stack.destroy().summary.resource_changes == {"delete": 2}


def test_main_names_a_folder_or_a_file(write: Write) -> None:
    stack = write("import pulumi\npulumi.export('in', __file__)\n", "app/__main__.py", "main: app\n")
    assert stack.up().outputs["in"].value.endswith("/shop/app/__main__.py")
    stack = write("import pulumi\npulumi.export('in', __file__)\n", "app/deploy.py", "main: app/deploy.py\n")
    assert stack.up().outputs["in"].value.endswith("/shop/app/deploy.py")


def test_a_program_that_fails_is_an_error_with_its_traceback(write: Write) -> None:
    with pytest.raises(auto.RuntimeError, match="Program failed with an unhandled exception") as caught:
        write("def wrong():\n    raise ValueError('it is wrong')\nwrong()\n").up()
    text = str(caught.value)
    assert "ValueError: it is wrong" in text and "in wrong" in text and "pulumi/runtime" not in text
    with pytest.raises(auto.RuntimeError, match="not today") as caught:
        write("import pulumi\nraise pulumi.RunError('not today')\n").up()
    assert "program exited with non-zero exit code: 1" in str(caught.value)
    with pytest.raises(auto.RuntimeError, match="program exited with non-zero exit code: 3"):
        write("import sys\nsys.exit(3)\n").up()
    with pytest.raises(auto.RuntimeError, match="the program was ended by the signal 9"):
        write("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n").up()


def test_a_cancelled_program_and_what_it_has_started_are_gone(write: Write, tmp_path: Path) -> None:
    noted = tmp_path / "processes"
    stack = write(
        "import os, signal, subprocess, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        f"open({str(noted)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('waiting', flush=True)\n"
        "time.sleep(1000)\n"
    )

    def interrupt(line: str) -> None:
        if "waiting" in line:
            raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        stack.up(on_output=interrupt)
    processes = [int(process) for process in noted.read_text().split()]
    deadline = time.monotonic() + DEADLINE
    while any(is_running(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [process for process in processes if is_running(process)]


def test_what_a_program_leaves_behind_ends_with_it(write: Write, tmp_path: Path) -> None:
    noted = tmp_path / "process"
    stack = write(
        f"import subprocess\nchild = subprocess.Popen(['sleep', '1000'])\nopen({str(noted)!r}, 'w').write(str(child.pid))\n"
    )
    assert stack.up().summary.result == "succeeded"
    assert not is_running(int(noted.read_text()))


def test_each_run_is_a_new_process(write: Write) -> None:
    stack = write("import os, pulumi\npulumi.export('process', os.getpid())\n")
    assert stack.up().outputs["process"].value != stack.up().outputs["process"].value


def test_a_missing_environment_is_named(write: Write, tmp_path: Path) -> None:
    stack = write("")
    project = tmp_path / "shop" / "Pulumi.yaml"
    project.write_text("name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv\n")
    with pytest.raises(auto.CommandError, match="the virtual environment .*/shop/venv does not exist"):
        stack.up()


def variables(tmp_path: Path, **others: str) -> dict[str, str]:
    return {"PULUMI_HOME": str(tmp_path / "home"), **others}


def executable(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


WHERE = "import os, shutil, pulumi\npulumi.export('venv', os.environ['VIRTUAL_ENV'])\npulumi.export('python', shutil.which('python'))\n"
"""Exports the virtual environment of a program."""


def test_the_virtual_environment_of_uv_is_beside_its_lock_file(make_engine: MakeEngine, tmp_path: Path) -> None:
    folder = tmp_path / "work" / "shop"
    folder.mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime:\n  name: python\n  options:\n    toolchain: uv\n")
    (folder / "__main__.py").write_text(WHERE)
    env_vars = variables(tmp_path)
    opts = auto.LocalWorkspaceOptions(pulumi_command=auto.Command(make_engine()), env_vars=env_vars)
    stack = auto.create_or_select_stack("dev", work_dir=str(folder), opts=opts)
    with pytest.raises(auto.CommandError, match="the virtual environment .*/work/shop/.venv does not exist"):
        stack.up()
    (tmp_path / "work" / "uv.lock").write_text("")
    environment = tmp_path / "work" / ".venv"
    environment.symlink_to(sys.prefix)
    outputs = stack.up().outputs
    assert (outputs["venv"].value, outputs["python"].value) == (str(environment), str(environment / "bin" / "python"))
    env_vars["UV_PROJECT_ENVIRONMENT"] = "elsewhere"
    with pytest.raises(auto.CommandError, match="the virtual environment .*/work/shop/elsewhere does not exist"):
        stack.up()


def test_poetry_names_its_virtual_environment(make_engine: MakeEngine, tmp_path: Path) -> None:
    folder, tools = tmp_path / "shop", tmp_path / "tools"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime:\n  name: python\n  options:\n    toolchain: poetry\n")
    (folder / "__main__.py").write_text(WHERE)
    opts = auto.LocalWorkspaceOptions(
        pulumi_command=auto.Command(make_engine()), env_vars=variables(tmp_path, PATH=f"{tools}:/usr/bin:/bin")
    )
    stack = auto.create_or_select_stack("dev", work_dir=str(folder), opts=opts)
    with pytest.raises(auto.CommandError, match="no `poetry` was found on the search path: install it"):
        stack.up()
    asked = f'[ "$*" = "env info --path" ] && [ "$PWD" = "{folder}" ]'
    executable(tools, "poetry", f"#!/bin/sh\n{asked} && echo {sys.prefix}\n")
    assert stack.up().outputs["venv"].value == sys.prefix
    executable(tools, "poetry", "#!/bin/sh\necho 'pyproject.toml is missing' >&2\nexit 1\n")
    with pytest.raises(auto.CommandError, match="names no virtual environment: pyproject.toml is missing"):
        stack.up()


def test_a_toolchain_or_type_checker_that_is_not_known_is_named(write: Write, tmp_path: Path) -> None:
    stack = write("")
    project = tmp_path / "shop" / "Pulumi.yaml"
    for option, text in (("toolchain: conda", "the toolchain `conda` is not supported"), ("typechecker: pytype", "`pytype` is not")):
        project.write_text(f"name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: {sys.prefix}\n    {option}\n")
        with pytest.raises(auto.CommandError, match=text):
            stack.up()


def test_a_type_checker_runs_before_the_program(write: Write, tmp_path: Path) -> None:
    checker = "import sys\nprint('checked', sys.argv[1:])\nsys.exit('wrong' in open('__main__.py').read())\n"
    option = "    typechecker: mypy\n"
    stack = write("import pulumi\npulumi.export('ran', True)\n", settings=option, mypy=checker)
    up = stack.up()
    assert up.outputs["ran"].value is True and f"checked ['{tmp_path / 'shop'}']" in up.stdout
    stack = write("print('it runs')  # wrong\n", settings=option, mypy=checker)
    with pytest.raises(auto.CommandError, match="the type checker mypy has refused the program") as caught:
        stack.up()
    assert "checked" in str(caught.value) and "it runs" not in str(caught.value)


HOST = f"""#!{sys.executable}
import concurrent.futures, os, sys, time
import grpc
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, resource_pb2, resource_pb2_grpc

class Host(language_pb2_grpc.LanguageRuntimeServicer):
    def GetRequiredPackages(self, request, context):
        return language_pb2.GetRequiredPackagesResponse()

    def Run(self, request, context):
        info = request.info
        words = open(os.path.join(info.program_directory, "program.tiny")).read().split()
        open(os.path.join(info.root_directory, "process"), "w").write(str(os.getpid()))
        print("runs", request.project, request.stack, *sys.argv[1:-1], os.environ["SHOP_TOKEN"], flush=True)
        if words[0] == "exit":
            print("the last line", file=sys.stderr, flush=True)
            os._exit(int(words[1]))
        if words[0] == "fail":
            return language_pb2.RunResponse(error="it is wrong")
        if words[0] == "hang":
            print("waiting", flush=True)
            time.sleep(1000)
        monitor = resource_pb2_grpc.ResourceMonitorStub(grpc.insecure_channel(request.monitor_address))
        Request = resource_pb2.RegisterResourceRequest
        root = monitor.RegisterResource(Request(type="pulumi:pulumi:Stack", name=request.project + "-" + request.stack))
        for word in words:
            made = Request(type="mem:index:Thing", name=word, custom=True, parent=root.urn)
            made.object.update({{"size": 1}})
            monitor.RegisterResource(made)
        outputs = resource_pb2.RegisterResourceOutputsRequest(urn=root.urn)
        outputs.outputs.update({{"made": words}})
        monitor.RegisterResourceOutputs(outputs)
        return language_pb2.RunResponse()

server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Host(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
server.wait_for_termination()
"""
"""The host of a language whose programs are lists of names."""


@pytest.fixture
def write_tiny(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> Write:
    """Writes a project in the language of :data:`HOST`, and opens its stack."""
    command = auto.Command(make_engine(mem=memory))
    folder, tools = tmp_path / "shop", tmp_path / "tools"
    (folder / "app").mkdir(parents=True)
    executable(tools, "pulumi-language-tiny", HOST)

    def write(program: str) -> auto.Stack:
        project = "name: shop\nmain: app\nruntime:\n  name: tiny\n  options:\n    level: 3\n"
        (folder / "Pulumi.yaml").write_text(project)
        (folder / "app" / "program.tiny").write_text(program)
        path = f"{tools}:{os.environ['PATH']}"
        env_vars = variables(tmp_path, PATH=path, SHOP_TOKEN="hush")
        opts = auto.LocalWorkspaceOptions(pulumi_command=command, env_vars=env_vars)
        return auto.create_or_select_stack("dev", work_dir=str(folder), opts=opts)

    return write


def host_process(tmp_path: Path) -> int:
    return int((tmp_path / "shop" / "process").read_text())


def test_other_languages_run_with_their_host_on_the_search_path(write_tiny: Write, memory: Memory, tmp_path: Path) -> None:
    stack = write_tiny("first second")
    assert stack.preview().change_summary == {"create": 3}
    up = stack.up()
    assert up.outputs["made"].value == ["first", "second"] and len(memory.things) == 2
    assert f"runs shop dev -level=3 -root={tmp_path / 'shop'} hush" in up.stdout
    assert not is_running(host_process(tmp_path))
    assert stack.destroy().summary.resource_changes == {"delete": 3}


def test_a_language_host_is_found_in_a_folder_that_the_caller_names(write_tiny: Write, memory: Memory, tmp_path: Path) -> None:
    write_tiny("first")
    plugins = sw.Plugins(directories=[str(tmp_path / "tools")])
    engine = sw.Engine(store=f"file://{tmp_path / 'state'}", passphrase="x", providers={"mem": memory}, plugins=plugins)
    opts = auto.LocalWorkspaceOptions(pulumi_command=auto.Command(engine), env_vars=variables(tmp_path, SHOP_TOKEN="hush"))
    stack = auto.create_or_select_stack("prod", work_dir=str(tmp_path / "shop"), opts=opts)
    assert stack.up().outputs["made"].value == ["first"]
    assert not is_running(host_process(tmp_path))


def test_a_language_host_that_fails_or_ends_is_an_error(write_tiny: Write, tmp_path: Path) -> None:
    with pytest.raises(auto.CommandError, match="an unhandled error occurred: it is wrong"):
        write_tiny("fail").up()
    assert not is_running(host_process(tmp_path))
    with pytest.raises(auto.CommandError, match="pulumi-language-tiny ended while it ran the program: .*3") as caught:
        write_tiny("exit 3").up()
    assert "the last line" in str(caught.value)


def test_a_cancelled_language_host_is_gone(write_tiny: Write, tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        if "waiting" in line:
            raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        write_tiny("hang").up(on_output=interrupt)
    assert not is_running(host_process(tmp_path))


def test_a_missing_language_host_is_named(write_tiny: Write, tmp_path: Path) -> None:
    stack = write_tiny("first")
    (tmp_path / "tools" / "pulumi-language-tiny").unlink()
    with pytest.raises(auto.CommandError, match="no language plugin 'pulumi-language-tiny' found"):
        stack.up()


@pytest.fixture
def write_node(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> Write:
    """Writes a project with a program in JavaScript, and opens its stack."""
    modules = ROOT / "node_modules"
    if shutil.which("node") is None or not modules.exists():
        missing("node, or its packages")
    command = auto.Command(make_engine(mem=memory))
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "node_modules").symlink_to(modules)

    def write(
        program: str, main: str = "index.js", package: str = "{}", settings: str = "", **files: str
    ) -> auto.Stack:
        (folder / "Pulumi.yaml").write_text(f"name: shop\nruntime: nodejs\n{settings}")
        (folder / "package.json").write_text(package)
        for name, text in {main: program, **files}.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        opts = auto.LocalWorkspaceOptions(
            pulumi_command=command, env_vars={"PULUMI_HOME": str(tmp_path / "home"), "SHOP_TOKEN": "from the workspace"}
        )
        return auto.create_or_select_stack("dev", work_dir=str(folder), opts=opts)

    return write


def test_a_program_in_javascript_deploys_with_its_configuration_and_variables(write_node: Write, memory: Memory) -> None:
    stack = write_node(
        "const pulumi = require('@pulumi/pulumi');\n"
        "const config = new pulumi.Config();\n"
        "const thing = new pulumi.CustomResource('mem:index:Thing', 'thing', { size: config.requireNumber('size') });\n"
        "setTimeout(() => new pulumi.CustomResource('mem:index:Thing', 'late', {}), 100);\n"
        "console.log('made by', process.cwd());\n"
        "exports.token = process.env.SHOP_TOKEN;\n"
        "exports.password = config.requireSecret('password');\n"
        "exports.id = thing.id;\n"
    )
    stack.set_config("size", auto.ConfigValue("3"))
    stack.set_config("password", auto.ConfigValue("hush", secret=True))
    assert stack.preview().change_summary == {"create": 3}
    up = stack.up()
    assert {name: (output.value, output.secret) for name, output in up.outputs.items()} == {
        "id": ("thing-1", False),
        "password": ("hush", True),
        "token": ("from the workspace", False),
    }
    assert "made by" in up.stdout and set(memory.things) == {"thing-1", "late-2"}


def test_modules_of_ecmascript_and_functions_give_outputs(write_node: Write) -> None:
    module = "import * as pulumi from '@pulumi/pulumi';\nexport const stack = pulumi.getStack();\n"
    assert write_node(module, "main.mjs", '{"main": "main.mjs"}').up().outputs["stack"].value == "dev"
    module = "export default async () => ({ answer: 42 });\n"
    stack = write_node(module, "index.js", '{"type": "module"}')
    assert stack.up().outputs["answer"].value == 42


def test_a_program_in_javascript_that_fails_is_an_error_with_its_stack(write_node: Write) -> None:
    with pytest.raises(auto.RuntimeError, match="failed with an unhandled exception") as caught:
        write_node("function wrong() {\n    throw new TypeError('it is wrong');\n}\nwrong();\n").up()
    assert "TypeError: it is wrong" in str(caught.value) and "at wrong" in str(caught.value)
    with pytest.raises(auto.CommandError, match="error: not today"):
        write_node("throw new (require('@pulumi/pulumi').RunError)('not today');\n").up()
    with pytest.raises(auto.RuntimeError, match="program exited with non-zero exit code: 3"):
        write_node("process.exit(3);\n").up()
    with pytest.raises(auto.CommandError, match="later"):
        write_node("setTimeout(() => Promise.reject(new Error('later')), 50);\n").up()


def test_a_program_in_typescript_is_compiled_and_checked(write_node: Write) -> None:
    program = (
        "import * as pulumi from '@pulumi/pulumi';\n"
        "interface Settings { size: number }\n"
        "const settings: Settings = { size: 3 };\n"
        "class Thing extends pulumi.CustomResource {\n"
        "    constructor(name: string, args: Settings) { super('mem:index:Thing', name, args); }\n"
        "}\n"
        "new Thing('thing', settings);\n"
        "export const size: number = settings.size;\n"
    )
    assert write_node(program, "index.ts").up().outputs["size"].value == 3
    with pytest.raises(auto.CompilationError, match="Type 'string' is not assignable to type 'number'"):
        write_node(program.replace("size: 3", "size: 'three'"), "index.ts").up()


def test_a_module_of_ecmascript_in_typescript_is_compiled_and_checked(write_node: Write) -> None:
    program = (
        "import * as pulumi from '@pulumi/pulumi';\n"
        "import { sizeOf, type Settings } from './parts.js';\n"
        "const settings: Settings = { size: 3 };\n"
        "await Promise.resolve();\n"
        "export const stack: string = pulumi.getStack();\n"
        "export const size: number = sizeOf(settings);\n"
    )
    parts = "export interface Settings { size: number }\nexport const sizeOf = (of: Settings): number => of.size;\n"
    files: dict[str, str] = {"parts.ts": parts}
    outputs = write_node(program, "index.ts", '{"type": "module"}', **files).up().outputs
    assert (outputs["stack"].value, outputs["size"].value) == ("dev", 3)
    with pytest.raises(auto.CompilationError, match="Type 'string' is not assignable to type 'number'"):
        write_node(program.replace("size: 3", "size: 'three'"), "index.ts", '{"type": "module"}', **files).up()
    main = '{"main": "app/main.mts"}'
    assert write_node("export default { answer: 42 as number };\n", "app/main.mts", main).up().outputs["answer"].value == 42


def test_the_entry_is_that_of_the_project_or_of_its_package(write_node: Write) -> None:
    where = "exports.in = __filename;\n"
    stack = write_node(where, "app/deploy.js", settings="main: app/deploy.js\n")
    assert stack.up().outputs["in"].value.endswith("/shop/app/deploy.js")
    stack = write_node(where, "app/index.js", settings="main: app\n")
    assert stack.up().outputs["in"].value.endswith("/shop/app/index.js")
    stack = write_node(where, "lib/main.js", '{"main": "lib/main.js"}')
    assert stack.up().outputs["in"].value.endswith("/shop/lib/main.js")
    for exports in ('"./lib/main.js"', '{".": "./lib/main.js"}', '{".": {"require": "./lib/main.js"}}'):
        stack = write_node(where, "lib/main.js", f'{{"main": "nothing.js", "exports": {exports}}}')
        assert stack.up().outputs["in"].value.endswith("/shop/lib/main.js")
    module = "export const answer: number = 42;\n"
    assert write_node(module, "index.mts").up().outputs["answer"].value == 42


def test_a_program_that_does_not_exist_is_named(write_node: Write) -> None:
    with pytest.raises(auto.CommandError, match="the program in .*/shop cannot run: .*/shop/dist/index.js does not exist"):
        write_node("", "other.js", '{"main": "dist/index.js"}').up()


def test_dynamic_resources_of_a_folder_find_the_packages_of_its_virtual_environment(write: Write, tmp_path: Path) -> None:
    environment = tmp_path / "shop" / "venv"
    packages = environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\ninclude-system-site-packages = false\n")
    (packages / "host.pth").write_text("\n".join(folder for folder in sys.path if folder.endswith("site-packages")))
    (packages / "only_here.py").write_text("NAME = 'from the environment'\n")
    write("")
    (tmp_path / "shop" / "Pulumi.yaml").write_text("name: shop\nruntime:\n  name: python\n  options:\n    virtualenv: venv\n")
    stack = write_program(
        tmp_path / "shop",
        "import pulumi\n"
        "from pulumi.dynamic import CreateResult, Resource, ResourceProvider\n"
        "class Provider(ResourceProvider):\n"
        "    def create(self, props):\n"
        "        import only_here\n"
        "        return CreateResult('1', {'name': only_here.NAME})\n"
        "class Named(Resource):\n"
        "    name: pulumi.Output[str]\n"
        "pulumi.export('name', Named(Provider(), 'named', {'name': None}).name)\n",
    )
    assert stack.up().outputs["name"].value == "from the environment"
    stack.destroy()


def write_program(folder: Path, program: str) -> auto.Stack:
    """Opens the stack of a folder with a program, over the command of the process."""
    (folder / "__main__.py").write_text(program)
    state = folder.parent / "state"
    state.mkdir(exist_ok=True)
    variables = {"PULUMI_HOME": str(folder.parent / "home"), "PULUMI_BACKEND_URL": f"file://{state}", "PULUMI_CONFIG_PASSPHRASE": "x"}
    return auto.create_or_select_stack("dev", work_dir=str(folder), opts=auto.LocalWorkspaceOptions(env_vars=variables))
