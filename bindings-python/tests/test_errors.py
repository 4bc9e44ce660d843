"""Errors: classes by kind, attributes, causes and messages."""

from __future__ import annotations

import asyncio
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import stackwright as sw
from stackwright import _stackwright as native
from stackwright import errors

from conftest import ROOT, MakeEngine, Memory
from stackwright._raised import causes_of


def test_there_is_one_class_for_each_kind_of_the_engine() -> None:
    classes = {cls.kind: cls for cls in errors.StackwrightError.__subclasses__()}
    assert {(kind, cls.error_class) for kind, cls in classes.items()} == set(native.error_kinds())
    for kind, cls in classes.items():
        camel = "".join(part.capitalize() for part in kind.split("_"))
        assert cls.__name__ == f"{camel}Error"
        assert getattr(sw, cls.__name__) is cls, "it is exported"


def test_the_members_of_an_error_become_attributes() -> None:
    error = errors._from_parts(
        "conflict", "it is locked", "locked", "code", None, "urn:x", "aws", "create", None, ["wait"], None, "the cause"
    )
    assert isinstance(error, sw.ConflictError)
    assert (error.message, error.urn, error.provider, error.phase) == ("it is locked", "urn:x", "aws", "create")
    assert error.hints == ("wait",)
    assert str(error) == "it is locked\nhint: wait"
    assert error.reason == str(error.__cause__) == "the cause"


@pytest.mark.parametrize(
    ("given", "found"), [(["x"], "one of str"), ([None], "one of NoneType"), ("x", "str"), (3, "int"), (None, "NoneType")]
)
def test_input_errors_of_another_type_are_refused_with_the_message_of_the_error(given: Any, found: str) -> None:
    with pytest.raises(sw.InvalidInputError) as caught:
        sw.ProviderError("bad", input_errors=given)
    assert str(caught.value) == f"input_errors of the ProviderError 'bad' takes a list of objects of the class CheckFailure, not {found}"


@pytest.mark.parametrize("failures", [["x"], 3])
def test_input_errors_that_are_set_to_another_type_leave_the_message_as_it_is(make_engine: MakeEngine, failures: Any) -> None:
    class Strict(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            error = sw.ProviderError("no such size")
            error.input_errors = failures
            raise error

    async def run() -> None:
        async with make_engine(mem=Strict()) as engine:
            stack = await engine.stack("shop/dev", one)
            with pytest.raises(sw.FailedError, match="no such size\n.*input_errors of the ProviderError takes .* of the class CheckFailure"):
                await stack.up()

    asyncio.run(run())


def test_an_unknown_kind_becomes_an_internal_error() -> None:
    assert isinstance(errors._from_parts("later", "x", "x", None, None, None, None, None, None, [], None, None), sw.InternalError)


@pytest.mark.parametrize("name", ["no-slash", "a/b/c/d", "", "bad name/dev"])
def test_a_bad_stack_name_is_an_invalid_input_error(make_engine: MakeEngine, name: str) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            with pytest.raises(sw.InvalidInputError):
                await engine.stack(name)

    asyncio.run(run())


def test_a_stack_that_does_not_exist_is_not_found(make_engine: MakeEngine) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            with pytest.raises(sw.NotFoundError, match="no stack named 'shop/dev' found"):
                await engine.stack("shop/dev", create=False)

    asyncio.run(run())


def test_the_error_of_a_store_with_an_unknown_scheme_has_a_hint() -> None:
    with pytest.raises(sw.InvalidInputError) as caught:
        sw.Engine(store="ftp://somewhere")
    assert caught.value.hints


def test_an_unknown_option_is_named_as_the_caller_spelled_it(make_engine: MakeEngine) -> None:
    async def program(ctx: sw.Context) -> None:
        pass

    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.InvalidInputError, match="unknown option 'paralell' of preview\\(\\); did you mean 'parallel'"):
                stack.preview(paralell=3)  # type: ignore[call-arg]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("providers", ["mem"], "providers takes a dictionary of providers by the names of their packages, not list"),
        ("plugins", "somewhere", "plugins takes stackwright.Plugins, not the text 'somewhere'"),
        ("resolver", "127.0.0.1:1", "resolver takes a function, not the text '127.0.0.1:1'"),
        ("passphrase", 5, "passphrase takes a string, not a number"),
        ("store", 5, "store takes a URL as a string, not a number"),
    ],
)
def test_options_of_an_engine_of_a_wrong_type_are_named(option: str, value: Any, expected: str) -> None:
    with pytest.raises(sw.InvalidInputError, match=expected):
        sw.Engine(**{"store": "memory://", option: value})


def test_non_functions_are_refused_before_anything_starts(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            for option, value in (("config", ["a"]), ("tags", 5)):
                with pytest.raises(sw.InvalidInputError, match=f"{option} takes .* by .*, not a"):
                    await engine.stack("shop/dev", one, **{option: value})  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="program takes a function, not int"):
                await engine.stack("shop/dev", 5)  # type: ignore[arg-type]
            assert await engine.stacks() == []
            stack = await engine.stack("shop/dev", one)
            for start in (stack.preview, stack.up, stack.refresh, stack.destroy):
                with pytest.raises(sw.InvalidInputError, match="on_event takes a function, not the text 'print'"):
                    start(on_event="print")  # type: ignore[arg-type]
            assert await stack.history() == [] and memory.calls == []

    asyncio.run(run())


def one(ctx: sw.Context) -> None:
    ctx.resource("mem:index:Thing", "a")


@pytest.mark.parametrize("is_async", [True, False])
def test_the_cause_of_an_error_is_the_providers_exception(make_engine: MakeEngine, is_async: bool) -> None:
    class Broken(sw.Provider):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            raise KeyError("missing")

        def delete(self, request: sw.DeleteRequest) -> None:
            pass

    class BrokenAsync(Broken):
        async def create(self, request: sw.CreateRequest) -> sw.CreateResult:  # type: ignore[override]
            raise KeyError("missing")

    async def program(ctx: sw.Context) -> None:
        ctx.resource("broken:index:Thing", "a")

    async def run() -> None:
        async with make_engine(broken=BrokenAsync() if is_async else Broken()) as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.FailedError) as caught:
                await stack.up()
            cause = caught.value.__cause__
            assert isinstance(cause, KeyError) and cause.__traceback__ is not None
            assert "create" in traceback.format_tb(cause.__traceback__)[-1]
            assert caught.value.result is not None and caught.value.result.error is caught.value
            assert not engine._raised._by_urn, "nothing is kept"

    asyncio.run(run())


async def fails(ctx: sw.Context) -> None:
    dict[str, int]()["k"]


def fails_without_async(ctx: sw.Context) -> None:
    dict[str, int]()["k"]


def fails_with_the_sdk() -> None:
    dict[str, int]()["k"]


@pytest.mark.parametrize("program", [fails, fails_without_async, fails_with_the_sdk])
def test_the_cause_of_an_error_is_the_programs_exception(make_engine: MakeEngine, program: sw.Program) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.ProgramError) as caught:
                await stack.up()
            cause = caught.value.__cause__
            assert isinstance(cause, KeyError)
            assert program.__name__ in traceback.format_tb(cause.__traceback__)[-1]  # type: ignore[union-attr]

    asyncio.run(run())


def test_a_program_that_exits_ends_its_operation_and_not_the_loop(make_engine: MakeEngine) -> None:
    async def exits(ctx: sw.Context) -> None:
        sys.exit(3)

    async def stays(ctx: sw.Context) -> None:
        ctx.export("there", True)

    async def run() -> None:
        async with make_engine() as engine:
            left, right = await engine.stack("shop/left", exits), await engine.stack("shop/right", stays)
            ended, lived = await asyncio.gather(left.up().wait(), right.up().wait())
            assert isinstance(ended.error, sw.ProgramError) and "SystemExit: 3" in str(ended.error)
            assert isinstance(ended.error.__cause__, SystemExit)
            assert lived.error is None and sw.unwrap(lived.outputs) == {"there": True}

    asyncio.run(run())


def test_a_keyboard_interrupt_off_the_main_thread_is_an_error_of_the_program(make_engine: MakeEngine) -> None:
    async def interrupts(ctx: sw.Context) -> None:
        raise KeyboardInterrupt

    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", interrupts)
            with pytest.raises(sw.ProgramError, match="KeyboardInterrupt"):
                await stack.up()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(asyncio.run, run()).result(60)


def test_a_class_is_refused_as_a_provider() -> None:
    class Files(sw.Provider):
        pass

    with pytest.raises(sw.InvalidInputError, match=r"'files' is the class Files; pass an instance, Files\(\)"):
        sw.Engine(store="memory://", providers={"files": Files})


def test_a_program_is_refused_as_a_plan(make_engine: MakeEngine) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", fails)
            with pytest.raises(sw.InvalidInputError, match=r"the result of a preview or a document, not function; .*up\(program=…\)"):
                stack.up(fails)  # type: ignore[arg-type]

    asyncio.run(run())


@pytest.mark.parametrize("program", [fails, fails_without_async, fails_with_the_sdk])
def test_a_programs_error_is_reported_once(make_engine: MakeEngine, program: sw.Program) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            operation = (await engine.stack("shop/dev", program)).up()
            events = [event.message async for event in operation if isinstance(event, sw.DiagnosticEvent)]
            result = await operation.wait()
            assert isinstance(result.error, sw.ProgramError) and str(result.error) == "KeyError: 'k'"
            errors = [found.message for found in result.diagnostics if found.severity == "error"]
            assert len(errors) == 1 and errors[0].endswith("KeyError: 'k'") and "Traceback" in errors[0]
            assert str(result).count("KeyError: 'k'") == 1
            assert sum("KeyError" in message for message in events) == 1

    asyncio.run(run())


def _raise_from_a_cause() -> None:
    try:
        try:
            raise ConnectionError("connect refused")
        except ConnectionError as error:
            raise KeyError("port") from error
    except KeyError as error:
        raise RuntimeError("cannot load") from error


def cause_in_a_thread(ctx: sw.Context) -> None:
    _raise_from_a_cause()


async def cause_on_the_loop(ctx: sw.Context) -> None:
    _raise_from_a_cause()


@pytest.mark.parametrize("program", [cause_in_a_thread, cause_on_the_loop, _raise_from_a_cause])
def test_the_cause_of_a_programs_exception_is_reported_once(make_engine: MakeEngine, program: sw.Program) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            result = await (await engine.stack("shop/dev", program)).up().wait()
            text = "RuntimeError: cannot load\ncaused by: KeyError: 'port'\ncaused by: ConnectionError: connect refused"
            assert str(result.error) == text
            assert str(result).count("ConnectionError: connect refused") == 1, str(result)
            assert str(result).count("in _raise_from_a_cause") == 3, "each exception has its traceback"
            assert isinstance(result.error.__cause__, RuntimeError)  # type: ignore[union-attr]

    asyncio.run(run())


@pytest.mark.parametrize("is_async", [True, False])
def test_the_cause_of_a_providers_exception_is_reported(make_engine: MakeEngine, is_async: bool) -> None:
    class Broken(sw.Provider):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            _raise_from_a_cause()
            raise AssertionError

        def delete(self, request: sw.DeleteRequest) -> None:
            pass

    class BrokenAsync(Broken):
        async def create(self, request: sw.CreateRequest) -> sw.CreateResult:  # type: ignore[override]
            return super().create(request)

    async def run() -> None:
        async with make_engine(broken=BrokenAsync() if is_async else Broken()) as engine:
            stack = await engine.stack("shop/dev", lambda ctx: ctx.resource("broken:index:Thing", "a"))
            text = "RuntimeError: cannot load\ncaused by: KeyError: 'port'\ncaused by: ConnectionError: connect refused"
            with pytest.raises(sw.FailedError) as caught:
                await stack.up()
            assert text in str(caught.value)
            assert isinstance(caught.value.__cause__, RuntimeError)

    asyncio.run(run())


def test_causes_omit_handled_exceptions_and_repeated_texts() -> None:
    def causes(error: BaseException, cause: BaseException | None) -> list[str]:
        error.__cause__ = cause
        return causes_of(error)

    handled = ValueError("b")
    handled.__context__ = KeyError("a")
    assert causes_of(handled) == []
    inner = OSError("no space")
    assert causes(RuntimeError(f"cannot write: {inner}"), inner) == []
    circle = RuntimeError("circle")
    assert causes(inner, circle) == ["caused by: RuntimeError: circle"]
    circle.__cause__ = inner
    assert causes_of(circle) == ["caused by: OSError: no space"]
    chain: BaseException = ValueError("0")
    for number in range(1, 1000):
        above = ValueError(str(number))
        above.__cause__ = chain
        chain = above
    assert len(causes_of(chain)) == 21 and causes_of(chain)[-1] == "…"

    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    (line,) = causes(ValueError("x"), Odd())
    assert line.startswith("caused by: ") and "Odd" in line


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the interpreter has no groups of exceptions")
def test_the_members_of_an_exception_group_are_reported() -> None:
    inner = KeyError("k")
    inner.__cause__ = OSError("no space")
    group = ExceptionGroup("several", [ValueError("a"), ExceptionGroup("more", [inner])])  # type: ignore[name-defined]  # noqa: F821
    assert causes_of(group) == [
        "- ValueError: a",
        "- ExceptionGroup: more (1 sub-exception)",
        "  - KeyError: 'k'",
        "    caused by: OSError: no space",
    ]


def test_each_error_has_its_page_in_the_documentation() -> None:
    classes = [made for made in vars(sw).values() if isinstance(made, type) and issubclass(made, sw.StackwrightError)]
    pages = {made("no").page for made in classes}
    assert "errors/invalid_input" in pages and len(pages) > 8, pages
    for page in pages:
        assert (ROOT / "docs" / f"{page}.md").is_file(), page
