"""Programs: valid kinds, resource leaks, diagnostics, and errors of wrong declarations."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pulumi
import pytest
import stackwright as sw

from stackwright._runner import _report

from conftest import MakeEngine, Memory, Vault, on_loop

THING = "mem:index:Thing"


def two(ctx: sw.Context) -> None:
    ctx.resource(THING, "a")
    ctx.resource(THING, "b")


def yielding(ctx: sw.Context) -> Iterator[None]:
    ctx.resource(THING, "a")
    yield


async def yielding_async(ctx: sw.Context) -> AsyncIterator[None]:
    ctx.resource(THING, "a")
    yield


def yielding_sdk() -> Iterator[None]:
    pulumi.export("a", 1)
    yield


class Yielding:
    def __call__(self, ctx: sw.Context) -> Iterator[None]:
        yield


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        *((program, sw.InvalidInputError) for program in [yielding, yielding_async, yielding_sdk, Yielding()]),
        (sw.pulumi_program(yielding_sdk), sw.InvalidInputError),
        # Their return values are known only after the run.
        *((program, sw.ProgramError) for program in [lambda ctx: yielding(ctx), lambda ctx: yielding_async(ctx)]),
        (lambda: yielding_sdk(), sw.ProgramError),
    ],
)
def test_a_program_with_a_yield_fails_and_deletes_nothing(
    make_engine: MakeEngine, memory: Memory, program: sw.Program, kind: type[Exception]
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", two)
            await stack.up()
            with pytest.raises(kind, match="contains a yield"):
                await stack.up(program=program)
            assert len(memory.things) == 2 and memory.count("delete") == 0

    asyncio.run(run())


class Written:
    async def program(self, ctx: sw.Context) -> None:
        await ctx.resource(THING, "a")
        await asyncio.sleep(0)
        ctx.resource(THING, "b")


async def both(first: Awaitable[object], second: Awaitable[object]) -> None:
    await first
    await second


@pytest.mark.parametrize(
    "program",
    [
        lambda ctx: (ctx.resource(THING, "a"), ctx.resource(THING, "b"))[1],
        lambda ctx: (ctx.resource(THING, "a"), ctx.resource(THING, "b")["made"])[1],
        lambda ctx: Written().program(ctx),
    ],
)
def test_a_program_may_return_a_resource_an_output_or_a_coroutine(
    make_engine: MakeEngine, memory: Memory, program: sw.Program
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            assert (await stack.up()).changes == {"create": 3}
            assert (await stack.up()).changes == {"same": 3}

    asyncio.run(run())


def test_a_coroutine_is_refused_once_something_has_been_registered_without_it(
    make_engine: MakeEngine, memory: Memory
) -> None:
    def program(ctx: sw.Context) -> Any:
        return both(ctx.resource(THING, "a"), ctx.resource(THING, "b"))

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.ProgramError, match="declare it with async def"):
                await stack.up()

    asyncio.run(run())


async def returns_outputs(ctx: sw.Context) -> Any:
    return {"a": 1}


@pytest.mark.parametrize("program", [lambda ctx: {"a": 1}, returns_outputs])
def test_outputs_that_a_program_with_a_context_returns_are_refused_because_they_would_be_lost(make_engine: MakeEngine, program: Any) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", lambda ctx: ctx.export("a", 1))
            await stack.up()
            with pytest.raises(sw.ProgramError, match="the program returned a dictionary, which would be ignored"):
                await stack.up(program=program)
            assert (await stack.outputs())["a"].value == 1

    asyncio.run(run())


class EndingRun:
    """A run that ends while its program fails."""

    ended = False
    failure = ""

    def log(self, severity: str, text: str) -> None:
        raise sw.CancelledError("the operation has ended: nothing is taken any more")

    def fail(self, message: str, reported: bool = False) -> None:
        self.failure = message


def test_a_program_that_fails_while_its_operation_ends_raises_nothing_in_its_thread() -> None:
    run, failures = EndingRun(), list[BaseException]()
    _report(run, ValueError("no"), failures)  # type: ignore[arg-type]
    assert "ValueError: no" in run.failure and [str(failure) for failure in failures] == ["no"]


def sdk_program() -> None:
    pulumi.export("a", 1)


def failing_sdk_program() -> None:
    raise ValueError("no")


def leave_behind(program: sw.Program) -> None:
    """Checks that runs leak neither file descriptors nor loops. Needs a process of its own."""

    def left() -> tuple[int, int]:
        gc.collect()
        loops = [found for found in gc.get_objects() if type(found).__name__ == "ProgramLoop"]
        return len(os.listdir("/proc/self/fd")), len(loops)

    async def run() -> None:
        async with sw.Engine(store="memory://", secrets=Vault(), providers={"mem": Memory()}) as engine:
            stack = await engine.stack("shop/dev", program)

            async def run_times(count: int) -> None:
                for _ in range(count):
                    await stack.up().wait()

            await run_times(5)
            before = left()
            await run_times(25)
            # A thread of the engine may drop what the last run has used a moment after its end.
            deadline = time.monotonic() + 30
            while any(now > then for now, then in zip(left(), before)):
                assert time.monotonic() < deadline, (left(), before)
                await asyncio.sleep(0.01)

    asyncio.run(run())


@pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc lists")
@pytest.mark.parametrize("program", ["sdk_program", "failing_sdk_program", "two"])
def test_runs_leave_no_file_descriptors_and_no_loops_behind(program: str) -> None:
    code = f"import test_programs; test_programs.leave_behind(test_programs.{program})"
    tests = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, "-c", code], cwd=tests, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def logs_error(ctx: sw.Context) -> None:
    ctx.log("b has gone missing", severity="error")


async def logs_error_async(ctx: sw.Context) -> None:
    ctx.log("b has gone missing", severity="error")


def logs_error_sdk() -> None:
    pulumi.log.error("b has gone missing")


@pytest.mark.parametrize("program", [logs_error, logs_error_async, logs_error_sdk])
def test_a_program_that_reports_an_error_has_failed(
    make_engine: MakeEngine, memory: Memory, program: sw.Program
) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", two)
            await stack.up()
            result = await stack.up(program=program).wait()
            assert result.outcome == "failed" and isinstance(result.error, sw.ProgramError)
            assert str(result.error) == "the program reported errors: b has gone missing"
            errors = [found.message for found in result.diagnostics if found.severity == "error"]
            assert errors == ["b has gone missing"]
            assert len(memory.things) == 2, "a failed program deletes nothing"

    asyncio.run(run())


Wrong = Callable[[sw.Context], object]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda ctx: ctx.resource(THING, "a", protct=True), "unknown option 'protct' of the resource 'a'; did you mean 'protect'?"),
        (lambda ctx: ctx.component("b:i:B", "a", {}, parrent=None), "unknown option 'parrent' of the resource 'a'; did you mean 'parent'?"),
        (lambda ctx: ctx.provider("mem", "a", {}, protct=True), "unknown option 'protct' of the resource 'a'; did you mean"),
        (lambda ctx: ctx.read(THING, "a", "1", vrsion=""), "unknown option 'vrsion' of the resource 'a'; did you mean 'version'?"),
        (lambda ctx: ctx.invoke("m:i:f", retain=True), "unknown option 'retain' of the call of 'm:i:f'; there are: depends_on, "),
        (
            lambda ctx: ctx.resource(THING, "a", aliases=[{"nam": "old"}]),
            "unknown member 'nam' of aliases[0] in the options of the resource 'a'; did you mean 'name'?",
        ),
        (
            lambda ctx: ctx.resource(THING, "a", custom_timeouts={"creat": 1}),
            "unknown member 'creat' of custom_timeouts in the options of the resource 'a'; did you mean 'create'?",
        ),
    ],
)
def test_a_misspelt_option_is_named_with_its_resource(
    make_engine: MakeEngine, memory: Memory, wrong: Wrong, message: str
) -> None:
    refused(make_engine(mem=memory), wrong, sw.InvalidInputError, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protect": "yes"}, "protect takes True or False, not a string"),
        ({"ignore_changes": "v"}, "ignore_changes takes a list of strings, not a string"),
        ({"hide_diffs": [1]}, "hide_diffs[0] takes a string, not a number"),
        ({"aliases": "old"}, "aliases takes a list of URNs and of parts of names, not a string"),
        ({"aliases": [{"name": 1}]}, "aliases[0].name takes a string, not a number"),
        ({"custom_timeouts": 5}, "custom_timeouts takes a dictionary, not a number"),
        ({"custom_timeouts": {"create": "5m"}}, "custom_timeouts.create takes a number of seconds from 0, not a string"),
        ({"parent": 1}, "parent takes a resource or its URN, not a number"),
        ({"providers": 1}, "providers takes provider resources by package, not a number"),
        ({"version": 1}, "version takes a string, not a number"),
        ({"depends_on": 1}, "depends_on takes resources or their URNs, not a number"),
    ],
)
def test_an_option_of_a_wrong_kind_is_named_with_its_resource(
    make_engine: MakeEngine, memory: Memory, options: Any, message: str
) -> None:
    expected = f"{message}, in the options of the resource 'a'"
    refused(make_engine(mem=memory), lambda ctx: ctx.resource(THING, "a", **options), sw.InvalidInputError, expected)


def refused(engine: sw.Engine, wrong: Wrong, kind: type[Exception], message: str) -> None:
    """Checks that a call of a program raises at once."""

    def program(ctx: sw.Context) -> None:
        with pytest.raises(kind) as caught:
            wrong(ctx)
        assert message in str(caught.value)

    async def run() -> None:
        async with engine:
            with suppress_with(message):
                await (await engine.stack("shop/dev", program)).up()

    asyncio.run(run())


@contextmanager
def suppress_with(message: str) -> Iterator[None]:
    """Suppresses the run's failure for a declaration whose error the program has caught."""
    try:
        yield
    except sw.InvalidInputError as error:
        assert message in str(error)  # noqa: PT017  # reads and calls do not fail the run


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda ctx: ctx.resource(THING, "b", {"v": object()}), "object"),
        (lambda ctx: ctx.resource(THING, "b", protct=True), "protct"),
        (lambda ctx: ctx.resource(THING, "b", {"v": ctx.resource(THING, "a")["id"], "w": object()}).wait(), "object"),
        (lambda ctx: ctx.export(5, 1), "name takes a text"),
    ],
)
def test_a_malformed_declaration_fails_the_run_even_if_its_error_is_caught(
    make_engine: MakeEngine, memory: Memory, declare: Callable[[sw.Context], Any], message: str
) -> None:
    def catching(ctx: sw.Context) -> None:
        with pytest.raises(sw.InvalidInputError):
            declare(ctx)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/dev", two)).up()
            with pytest.raises(sw.InvalidInputError, match=message) as caught:
                await (await engine.stack("shop/dev", catching)).up()
            assert caught.value.result is not None
            assert not any(step.op == "delete" for step in caught.value.result.steps)

    asyncio.run(run())


@pytest.mark.parametrize("late", ["resource", "component", "read", "invoke", "export", "outputs"])
def test_calls_of_a_task_after_the_programs_end_are_refused(make_engine: MakeEngine, memory: Memory, late: str) -> None:
    contexts: list[sw.Context] = []
    components: list[sw.Resource] = []

    async def program(ctx: sw.Context) -> None:
        contexts.append(ctx)
        components.append(ctx.component("box:index:Box", "box"))

    def ask() -> object:
        (ctx,) = contexts
        asked: dict[str, Callable[[], object]] = {
            "resource": lambda: ctx.resource(THING, "late", {"x": 1}),
            "component": lambda: ctx.component("box:index:Box", "late", parent=components[0]),
            "read": lambda: ctx.read(THING, "late", "id"),
            "invoke": lambda: ctx.invoke("mem:index:echo"),
            "export": lambda: ctx.export("late", 1),
            "outputs": lambda: components[0].register_outputs({"late": 1}),
        }
        return asked[late]()

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            await (await engine.stack("shop/dev", program)).up()
            with pytest.raises(sw.InvalidInputError, match=" came after the program had ended, and is left out") as caught:
                ask()
            assert caught.value.hints and memory.calls == []

    asyncio.run(run())


def test_a_late_resource_is_reported_as_a_diagnostic(make_engine: MakeEngine) -> None:
    late = threading.Event()

    class Slow(Memory):
        def delete(self, request: sw.DeleteRequest) -> None:
            # The operation continues after the program's end until the late registration.
            assert late.wait(20)

    tasks: list[asyncio.Task[None]] = []

    async def outlived(ctx: sw.Context) -> None:
        async def work() -> None:
            while not ctx._over:
                await asyncio.sleep(0)
            try:
                ctx.resource(THING, "late")
            finally:
                late.set()

        tasks.append(asyncio.ensure_future(work()))

    async def run() -> None:
        async with make_engine(mem=Slow()) as engine:
            stack = await engine.stack("shop/dev", two)
            await stack.up()
            result = await stack.up(program=outlived, allow_empty=True).wait()
            errors = [found.message for found in result.diagnostics if found.severity == "error"]
            assert errors == ["the resource 'late' came after the program had ended, and is left out"]
            with pytest.raises(sw.InvalidInputError, match="'late'"):
                await tasks[0]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda ctx: ctx.resource(5, "a"), "type takes a type token as a text, not int"),
        (lambda ctx: ctx.component("b:i:B", 5), "name takes a text, not int"),
        (lambda ctx: ctx.resource(THING, "a", [1]), "inputs of the resource 'a' takes a dictionary of values by name, not list"),
        (lambda ctx: ctx.resource(THING, "a", "text"), "inputs of the resource 'a' takes a dictionary of values by name, not the text"),
        (lambda ctx: ctx.read(THING, "a", 5), "id takes a text or an output, not int"),
        (lambda ctx: ctx.provider(5, "a"), "package takes the name of a package, not int"),
        (lambda ctx: ctx.invoke(5), "token takes a function's token as a text, not int"),
        (lambda ctx: ctx.invoke("m:i:f", 5), "arguments of the call of 'm:i:f' takes a dictionary of values by name, not int"),
        (lambda ctx: ctx.component("b:i:B", "a").register_outputs(5), "outputs of the component 'a' takes a dictionary of values by"),
        (lambda ctx: ctx.export(5, 1), "name takes a text, not int"),
        (lambda ctx: ctx.log(5), "message takes a text, not int"),
        (lambda ctx: ctx.log("x", severity="loud"), "severity takes one of debug, info, warning, error, not the text 'loud'"),
        (lambda ctx: ctx.log("x", resource="a"), "resource takes a resource, not the text 'a'"),
        (lambda ctx: ctx.resource(THING, "a").id.apply(5), "apply() takes a function, not int"),
        (lambda ctx: ctx.resource(THING, "a").id.apply(lambda: 1), "apply() takes a function that is called with one argument, not one"),
        (lambda ctx: ctx.resource(THING, "a", parent="foo"), "parent takes a resource or its URN, not 'foo', in the options of"),
        (lambda ctx: ctx.resource(THING, "a", aliases=["foo"]), "aliases[0] takes a URN, not 'foo', in the"),
        (lambda ctx: ctx.resource(THING, "a", custom_timeouts={"read": -1}), "custom_timeouts.read takes a number of seconds from 0, not -1, in the options of"),
    ],
)
def test_a_wrong_argument_is_named_at_once(make_engine: MakeEngine, memory: Memory, wrong: Wrong, message: str) -> None:
    refused(make_engine(mem=memory), wrong, sw.InvalidInputError, message)


class Busy(Memory):
    def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
        raise sw.ProviderError("the service is busy")


def declare(ctx: sw.Context, **changed: Callable[[sw.Resource], sw.Resource]) -> dict[str, sw.Resource]:
    """Declares a component, a thing, a thing below the component, and a thing that is read, each as in ``changed``."""
    box = changed["box"](None) if "box" in changed else ctx.component("shop:index:Box", "box")  # type: ignore[arg-type]
    usual: dict[str, Callable[[sw.Resource], sw.Resource]] = {
        "keep": lambda _: ctx.resource(THING, "keep", {"v": 1}),
        "child": lambda box: ctx.resource(THING, "child", {"v": 1}, parent=box),
        "known": lambda _: ctx.read(THING, "known", "k-1"),
    }
    return {"box": box, **{name: {**usual, **changed}[name](box) for name in usual}}


FAILED: dict[str, tuple[str, Callable[[sw.Context, Any, Any], sw.Resource]]] = {
    "an input": ("keep", lambda ctx, failed, _: ctx.resource(THING, "keep", {"v": failed})),
    "a part of an input": ("keep", lambda ctx, failed, _: ctx.resource(THING, "keep", {"v": [{"w": failed}]})),
    "what is made of it": ("keep", lambda ctx, failed, _: ctx.resource(THING, "keep", {"v": failed.apply(str)})),
    "one of several": ("keep", lambda ctx, failed, _: ctx.resource(THING, "keep", {"v": sw.Output.all(failed, 1)})),
    "a dependency": ("keep", lambda ctx, failed, _: ctx.resource(THING, "keep", {"v": 1}, depends_on=[failed])),
    "a trigger": ("keep", lambda ctx, failed, _: ctx.resource(THING, "keep", {"v": 1}, replacement_trigger=failed)),
    "an alias": ("keep", lambda ctx, failed, _: ctx.resource(THING, "kept", {"v": failed}, aliases=[{"name": "keep"}])),
    "the former parent": ("keep", lambda ctx, failed, _: ctx.resource(
        THING, "keep", {"v": 1}, aliases=[{"name": "kept", "parent": ctx.component("shop:index:Box", "former", {"v": failed})}]
    )),
    "a component": ("box", lambda ctx, failed, _: ctx.component("shop:index:Box", "box", {"v": failed})),
    "a child": ("child", lambda ctx, failed, box: ctx.resource(THING, "child", {"v": failed}, parent=box)),
    "an id": ("known", lambda ctx, failed, _: ctx.read(THING, "known", failed)),
}


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("case", list(FAILED))
@on_loop
async def test_a_recorded_resource_whose_needs_have_failed_is_kept_although_the_program_goes_on(
    make_engine: MakeEngine, case: str, is_async: bool
) -> None:
    memory = Busy()
    memory.things["k-1"] = {}
    name, make = FAILED[case]

    def changed(ctx: sw.Context) -> dict[str, sw.Resource]:
        failed = ctx.invoke("mem:index:busy")["x"]
        return declare(ctx, **{name: lambda box: make(ctx, failed, box)})

    def recorded(ctx: sw.Context) -> None:
        declare(ctx)

    async def program(ctx: sw.Context) -> None:
        for made in changed(ctx).values():
            with suppress(sw.StackwrightError):
                await made

    def ordinary(ctx: sw.Context) -> None:
        for made in changed(ctx).values():
            with suppress(sw.StackwrightError):
                made.wait()

    async with make_engine(mem=memory) as engine:
        await (await engine.stack("shop/dev", recorded)).up()
        before = await (await engine.stack("shop/dev")).export_deployment()
        stack = await engine.stack("shop/dev", program if is_async else ordinary)
        for operation in (stack.preview, stack.up):
            with pytest.raises(sw.ProgramError, match="(?s)the service is busy.*hint: the program went on") as caught:
                await operation()
            assert caught.value.urn is not None and caught.value.urn.endswith(f"::{name}")
        assert memory.count("delete") == 0
        urns = [[it["urn"] for it in state["deployment"]["resources"]] for state in (before, await stack.export_deployment())]
        assert sorted(urns[0]) == sorted(urns[1])


@on_loop
async def test_a_new_resource_whose_needs_have_failed_is_the_affair_of_the_program(make_engine: MakeEngine) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "other")
        with pytest.raises(sw.StackwrightError, match="the service is busy"):
            await ctx.resource(THING, "new", {"v": ctx.invoke("mem:index:busy")["x"]})

    async with make_engine(mem=Busy()) as engine:
        assert dict((await (await engine.stack("shop/dev", program)).up()).changes) == {"create": 2}


@pytest.mark.parametrize("failure", ["an input of a resource", "an input of the code"])
@on_loop
async def test_failed_code_of_the_sdk_fails_the_run_also_where_the_program_goes_on(make_engine: MakeEngine, failure: str) -> None:
    memory, fails = Busy(), False

    class Thing(pulumi.CustomResource):
        def __init__(self) -> None:
            super().__init__(THING, "keep", {"v": pulumi.Output.from_input(1).apply(self.value)})

        @staticmethod
        def value(given: int) -> int:
            if fails and failure == "an input of a resource":
                raise LookupError("the service is busy")
            return given

    async def program(ctx: sw.Context) -> None:
        ctx.resource(THING, "other")
        inputs: dict[str, Any] = {"v": ctx.invoke("mem:index:busy")["x"]} if fails and failure == "an input of the code" else {}
        try:
            await ctx.run_sdk(lambda _: {"urn": Thing().urn}, inputs)
        except Exception:
            assert fails

    async with make_engine(mem=memory) as engine:
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        fails = True
        with pytest.raises(sw.StackwrightError, match="the service is busy"):
            await stack.up()
        assert memory.count("delete") == 0 and len(memory.things) == 2


@on_loop
async def test_a_program_that_returns_another_one_is_refused(make_engine: MakeEngine) -> None:
    async with make_engine() as engine:
        stack = await engine.stack("shop/dev", lambda ctx: lambda inner: None)  # type: ignore[arg-type]
        with pytest.raises(sw.StackwrightError, match="the program returned a function, which would be ignored"):
            await stack.up()
