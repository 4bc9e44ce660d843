"""Inline programs over the Automation API: errors, callbacks, providers, and many at once."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pulumi
import pytest
from stackwright import automation as auto

from automation_support import DEADLINE, Open, Thing, children, environment, open_stack, shop
from conftest import Memory
from listeners import listeners


def test_a_second_update_is_refused_while_one_runs_and_a_cancel_ends_that_one(open_stack: Open) -> None:
    begun, proceed = threading.Event(), threading.Event()

    def waiting() -> None:
        Thing("made", {})
        if not pulumi.runtime.is_dry_run():
            begun.set()
            assert proceed.wait(DEADLINE)

    failures: list[Exception] = []

    def update() -> None:
        try:
            stack.up()
        except auto.CommandError as error:
            failures.append(error)

    stack = open_stack(program=waiting)
    thread = threading.Thread(target=update)
    thread.start()
    try:
        assert begun.wait(DEADLINE)
        with pytest.raises(auto.ConcurrentUpdateError, match="the stack is currently locked by 1 lock"):
            open_stack(program=waiting).up()
        stack.cancel()
    finally:
        proceed.set()
        thread.join(DEADLINE)
    assert not thread.is_alive() and len(failures) == 1
    assert [summary.result for summary in stack.history()] == ["failed"]
    assert open_stack().up().summary.result == "succeeded", "the lock is free again"


def test_heartbeats_of_a_long_operation_are_one_line(open_stack: Open) -> None:
    def slow() -> None:
        Thing("made", {})
        threading.Event().wait(2.5)

    lines: list[str] = []
    up = open_stack(program=slow).up(on_output=lines.append)
    # Those before the first step of a slow machine have a line of their own.
    assert re.fullmatch(r"@ updating\.{4,}", [line for line in lines if line.startswith("@ ")][-1]), lines
    assert not any(line.startswith("@ ") and following.startswith("@ ") for line, following in zip(lines, lines[1:], strict=False)), lines
    assert "." not in lines and "\n".join(lines) == up.stdout


def test_a_cancel_removes_the_lock_of_another_process(environment: dict[str, str], tmp_path: Path) -> None:
    opts = auto.LocalWorkspaceOptions(env_vars=environment)
    stack = auto.create_stack("dev", project_name="shop", program=lambda: None, opts=opts)
    locks = tmp_path / "state" / ".pulumi" / "locks" / "organization" / "shop" / "dev"
    locks.mkdir(parents=True)
    owner = {"pid": 1, "username": "someone", "hostname": "elsewhere", "timestamp": "2026-01-02T03:04:05Z"}
    (locks / "0.json").write_text(json.dumps(owner))
    with pytest.raises(auto.ConcurrentUpdateError, match="created by someone@elsewhere"):
        stack.up()
    stack.cancel()
    assert stack.up().summary.result == "succeeded"


def test_what_a_callback_raises_cancels_the_operation_and_is_raised(open_stack: Open, memory: Memory) -> None:
    def refuse(line: str) -> None:
        raise LookupError(f"refused: {line}")

    stack = open_stack()
    with pytest.raises(LookupError, match="refused: Updating"):
        stack.up(on_output=refuse)
    assert stack.up().summary.result == "succeeded", "the lock is free again"


def test_stacks_of_many_threads_do_not_see_each_other(open_stack: Open) -> None:
    count = 12

    def deploy(number: int) -> None:
        def program() -> None:
            Thing(f"thing-{number}", {"password": pulumi.Output.secret(f"hush-{number}")})
            pulumi.export("stack", pulumi.get_stack())

        stack = open_stack(f"dev-{number}", program)
        outputs[number] = stack.up().outputs["stack"].value
        states[number] = json.dumps(stack.export_stack().deployment)

    outputs: dict[int, str] = {}
    states: dict[int, str] = {}
    threads = [threading.Thread(target=deploy, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert outputs == {number: f"dev-{number}" for number in range(count)}
    for number, state in states.items():
        others = (other for other in range(count) if other != number)
        assert f"thing-{number}" in state and not any(f'thing-{other}"' in state for other in others)


def test_what_the_sdk_raises_after_a_failed_resource_is_no_cause(open_stack: Open, memory: Memory) -> None:
    def refuse(method: str, name: str) -> None:
        raise ValueError(f"{name} needs a size")

    def program() -> None:
        Thing("thing", {})

    memory.note = refuse  # type: ignore[method-assign]
    with pytest.raises(auto.CommandError, match="thing needs a size") as failed:
        open_stack(program=program).up()
    assert failed.value.__cause__ is None


def test_an_unknown_option_is_an_error_that_names_the_method(open_stack: Open) -> None:
    with pytest.raises(TypeError, match=r"Stack\.up\(\) got an unexpected keyword argument 'frob'"):
        open_stack().up(frob=1)  # type: ignore[call-arg]


def test_the_cause_of_a_failed_program_is_what_it_has_raised(open_stack: Open) -> None:
    async def program() -> None:
        Thing("made", {})
        raise KeyError("missing")

    with pytest.raises(auto.InlineSourceRuntimeError, match="'missing'") as caught:
        open_stack(program=program).up()
    assert isinstance(caught.value.__cause__, KeyError)

    def leaving() -> None:
        raise SystemExit(3)

    with pytest.raises(auto.InlineSourceRuntimeError, match="python inline source runtime error: 3"):
        open_stack(program=leaving).up()


def test_inline_programs_and_events_use_no_socket(open_stack: Open, memory: Memory) -> None:
    """The servers that the SDK would start are not there."""

    def connections() -> set[str]:
        """Returns the inodes of this process's connected TCP sockets."""
        own: set[str] = set()
        for descriptor in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                own.add(os.readlink(descriptor))
        rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
        return {row[9] for row in rows if row[3] == "01" and f"socket:[{row[9]}]" in own}

    seen: list[set[str]] = []

    def program() -> None:
        Thing("made", {})
        seen.append(connections() | listeners())

    before = connections() | listeners()
    stack = open_stack(program=program)
    events: list[auto.EngineEvent] = []
    stack.preview(on_event=events.append)
    stack.up(on_event=events.append)
    assert [used - before for used in seen] == [set(), set()]
    assert len([event for event in events if event.summary_event is not None]) == 2


def test_hooks_and_transforms_of_inline_programs_run(open_stack: Open, memory: Memory) -> None:
    ran: list[str] = []

    def grow(arguments: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        return pulumi.ResourceTransformResult({**arguments.props, "grown": True}, arguments.opts)

    def program() -> None:
        hook = pulumi.ResourceHook("after", lambda arguments: ran.append(arguments.name))
        hooks = pulumi.ResourceHookBinding(after_create=[hook])
        Thing("made", {}, pulumi.ResourceOptions(transforms=[grow], hooks=hooks))

    open_stack(program=program).up()
    assert ran == ["made"] and [thing["grown"] for thing in memory.things.values()] == [True]


def test_a_program_of_an_operation_precedes_that_of_the_workspace(open_stack: Open) -> None:
    def other() -> None:
        pulumi.export("other", True)

    stack = open_stack()
    assert set(stack.up(program=other).outputs) == {"other"}
    assert stack.preview(program=other).change_summary == {"same": 1}
    assert "other" not in stack.up().outputs


def test_providers_have_the_variables_of_the_workspace(environment: dict[str, str]) -> None:
    pytest.importorskip("dill")
    from pulumi import dynamic

    class Reader(dynamic.ResourceProvider):
        def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
            import os as own

            return dynamic.CreateResult("read-1", {"token": own.environ.get("SHOP_TOKEN")})

    class Read(dynamic.Resource):
        token: pulumi.Output[str]

        def __init__(self, name: str) -> None:
            super().__init__(Reader(), name, {"token": None})

    def program() -> None:
        pulumi.export("token", Read("read").token)

    before = children()
    opts = auto.LocalWorkspaceOptions(env_vars={**environment, "SHOP_TOKEN": "from the workspace"})
    stack = auto.create_or_select_stack("dev", project_name="shop", program=program, opts=opts)
    assert stack.up().outputs["token"].value == "from the workspace"
    assert "SHOP_TOKEN" not in os.environ and children() == before, "the provider has ended"


def test_a_plain_thread_of_a_program_reaches_no_stack(open_stack: Open, memory: Memory) -> None:
    raised: list[BaseException] = []

    def stray() -> None:
        try:
            Thing("stray", {})
        except BaseException as error:  # noqa: BLE001  # asserted below
            raised.append(error)

    def program() -> None:
        thread = threading.Thread(target=stray)
        thread.start()
        thread.join(DEADLINE)

    assert open_stack(program=program).up().summary.resource_changes == {"create": 1}
    assert len(raised) == 1 and not memory.things


def test_a_stack_can_be_deployed_by_the_program_of_another(open_stack: Open) -> None:
    def inner() -> None:
        Thing("inner", {})
        pulumi.export("stack", pulumi.get_stack())

    def outer() -> None:
        deployed = open_stack("inner", inner).up()
        Thing("outer", {})
        pulumi.export("inner", deployed.outputs["stack"].value)
        pulumi.export("stack", pulumi.get_stack())

    outputs = open_stack("outer", outer).up().outputs
    assert {name: output.value for name, output in outputs.items()} == {"inner": "inner", "stack": "outer"}


def test_a_cancel_ends_a_preview_and_removes_the_lock_of_another_process(environment: dict[str, str], tmp_path: Path) -> None:
    begun, proceed = threading.Event(), threading.Event()

    def waiting() -> None:
        begun.set()
        assert proceed.wait(DEADLINE)

    opts = auto.LocalWorkspaceOptions(env_vars=environment)
    stack = auto.create_stack("dev", project_name="shop", program=waiting, opts=opts)
    locks = tmp_path / "state" / ".pulumi" / "locks" / "organization" / "shop" / "dev"
    locks.mkdir(parents=True)
    owner = {"pid": 1, "username": "someone", "hostname": "elsewhere", "timestamp": "2026-01-02T03:04:05Z"}
    (locks / "0.json").write_text(json.dumps(owner))
    failures: list[str] = []

    def preview() -> None:
        try:
            stack.preview()
        except auto.CommandError as error:
            failures.append(str(error))

    thread = threading.Thread(target=preview)
    thread.start()
    try:
        assert begun.wait(DEADLINE)
        stack.cancel()
        assert list(locks.glob("*")) == []
    finally:
        proceed.set()
        thread.join(DEADLINE)
    assert len(failures) == 1 and "cancel" in failures[0]


LEFT = """
import asyncio, sys, threading
import pulumi
import stackwright as sw
from stackwright import automation as auto

begun = threading.Event()

class Slow(sw.Provider):
    async def create(self, request):
        begun.set()
        await asyncio.Event().wait()

    async def delete(self, request):
        pass

def program():
    pulumi.CustomResource("slow:index:Thing", "thing", {})

engine = sw.Engine(store=sys.argv[1], passphrase="left", providers={"slow": Slow()})
opts = auto.LocalWorkspaceOptions(pulumi_command=auto.Command(engine))
stack = auto.create_or_select_stack("dev", project_name="shop", program=program, opts=opts)
threading.Thread(target=stack.up, daemon=True).start()
assert begun.wait(60)
"""


def test_an_operation_that_the_interpreter_leaves_prints_no_panic(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LEFT, f"file://{tmp_path}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "panicked" not in ended.stderr


def test_a_program_that_ends_the_process_is_named_as_such(open_stack: Open) -> None:
    def leave() -> None:
        sys.exit(3)

    with pytest.raises(auto.errors.InlineSourceRuntimeError, match=r"the program called sys.exit\(3\)"):
        open_stack(program=leave).up()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_of_a_fork_have_random_bytes_of_their_own(tmp_path: Path) -> None:
    def stack_named(name: str) -> auto.Stack:
        opts = auto.LocalWorkspaceOptions(
            pulumi_home=str(tmp_path / "home"),
            env_vars={"PULUMI_BACKEND_URL": f"file://{tmp_path}", "PULUMI_CONFIG_PASSPHRASE": "correct horse"},
        )
        return auto.create_or_select_stack(name, project_name="shop", program=lambda: pulumi.export("name", name), opts=opts)

    stack_named("before").up()
    children = {}
    for name in ("one", "two", "three"):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if stack_named(name).up().outputs["name"].value == name else 2
            finally:
                os._exit(code)
        children[name] = child
    for child in children.values():
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    states = [json.loads((tmp_path / f".pulumi/stacks/shop/{name}.json").read_bytes()) for name in children]
    salts = {state["checkpoint"]["latest"]["secrets_providers"]["state"]["salt"] for state in states}
    assert len(salts) == len(children)


def test_a_stack_of_before_a_fork_works_in_the_child(tmp_path: Path) -> None:
    opts = auto.LocalWorkspaceOptions(
        pulumi_home=str(tmp_path / "home"),
        env_vars={"PULUMI_BACKEND_URL": f"file://{tmp_path}", "PULUMI_CONFIG_PASSPHRASE": "correct horse"},
    )
    stack = auto.create_or_select_stack("dev", project_name="shop", program=lambda: pulumi.export("size", 1), opts=opts)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if stack.up().outputs["size"].value == 1 else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + DEADLINE
    ended, status = 0, 0
    while ended == 0 and time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        select.select([], [], [], 0.01)
    if ended == 0:
        os.kill(child, signal.SIGKILL)
    assert ended == child and os.waitstatus_to_exitcode(status) == 0
    assert stack.outputs()["size"].value == 1


TERMINATED = """
import sys
import threading
import pulumi
import stackwright as sw
from stackwright import automation as auto

cancelled = threading.Event()

class Slow(sw.Provider):
    def create(self, request):
        print("creating", request.name, flush=True)
        if request.name == "second" and not cancelled.wait(int(sys.argv[2])):
            raise RuntimeError("the provider was not notified of the cancellation")
        return sw.CreateResult(request.name, request.inputs)

    def delete(self, request):
        pass

    def cancel(self):
        cancelled.set()

def program():
    made = None
    for name in ("first", "second", "third"):
        options = pulumi.ResourceOptions(depends_on=[] if made is None else [made])
        made = pulumi.CustomResource("things:index:Thing", name, {}, options)

engine = sw.Engine(store="file://" + sys.argv[1], passphrase="x", providers={"things": Slow()})
opts = auto.LocalWorkspaceOptions(pulumi_command=auto.Command(engine=engine), pulumi_home=sys.argv[1] + "/home")
stack = auto.create_or_select_stack("dev", project_name="shop", program=program, opts=opts)
stack.up()
print("not reached", flush=True)
"""


def test_a_termination_signal_cancels_gracefully_and_ends_the_process(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", TERMINATED, str(tmp_path), str(DEADLINE)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line == "creating second\n":
            break
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=DEADLINE)
    assert (process.returncode, output) == (-signal.SIGTERM, ""), errors
    deployment = json.loads((tmp_path / ".pulumi/stacks/shop/dev.json").read_bytes())["checkpoint"]["latest"]
    names = [resource["urn"].rsplit("::", 1)[1] for resource in deployment["resources"]]
    assert "second" in names and "third" not in names
    assert not deployment.get("pending_operations")
