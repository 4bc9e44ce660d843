"""The texts of objects: every public class has one of its own, and none has a secret."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pytest
import stackwright as sw
import stackwright.fleet
import stackwright.logging
import stackwright.testing
from stackwright import sync

SECRET = "hunter2-hunter2"
NOTE = "notes:index:Note"


@pytest.mark.parametrize("module", [sw, stackwright.fleet, stackwright.testing, sync])
def test_every_public_class_has_a_text_of_its_own(module: ModuleType) -> None:
    found = [getattr(module, name) for name in module.__all__]
    classes = [each for each in found if inspect.isclass(each) and each is not Any and not getattr(each, "_is_protocol", False)]
    assert classes
    assert not [each.__name__ for each in classes if each.__repr__ is object.__repr__]


class Notes(sw.Provider):
    """Keeps the text of each request, by the class of the request."""

    def __init__(self) -> None:
        self.shown: dict[str, str] = {}

    def keep(self, request: object) -> None:
        self.shown[type(request).__name__] = repr(request)

    def check(self, request: sw.CheckRequest) -> Mapping[str, Any]:
        self.keep(request)
        return request.inputs

    def configure(self, request: sw.ConfigureRequest) -> None:
        self.keep(request)

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        self.keep(request)
        return sw.CreateResult(id=f"id-{SECRET}", outputs=request.inputs)

    def diff(self, request: sw.DiffRequest) -> bool:
        self.keep(request)
        return True

    def update(self, request: sw.UpdateRequest) -> Mapping[str, Any]:
        self.keep(request)
        return request.inputs

    def read(self, request: sw.ReadRequest) -> sw.ReadResult:
        self.keep(request)
        return sw.ReadResult(id=request.id, inputs=request.inputs or {}, outputs=request.outputs or {})

    def delete(self, request: sw.DeleteRequest) -> None:
        self.keep(request)

    def invoke(self, request: sw.InvokeRequest) -> Mapping[str, Any]:
        self.keep(request)
        return {}

    def construct(self, ctx: sw.Context, request: sw.ConstructRequest) -> Mapping[str, Any]:
        self.keep(request)
        self.keep(ctx)
        return {}

    def call(self, ctx: sw.Context, request: sw.MethodRequest) -> Mapping[str, Any]:
        self.keep(request)
        return {}


def program(size: int) -> sw.Program:
    async def run(ctx: sw.Context) -> None:
        password = sw.secret(SECRET)
        note = ctx.resource(NOTE, "a", {"password": password, "size": size})
        assert repr(note["password"]) == f"<Output of Resource {NOTE} 'a'>"
        invocation = ctx.invoke("notes:index:find", {"password": password})
        assert repr(invocation) == "<Invocation notes:index:find>"
        await invocation
        ctx.remote_component("notes:index:Box", "box", {"password": password})
        await ctx.call("notes:index:Box/open", None, {"password": password})

    return run


@pytest.mark.parametrize("accepts", [False, True])
def test_a_request_shows_the_names_of_its_members_and_no_value_of_a_property(accepts: bool) -> None:
    notes = Notes()
    notes.accept_secrets = accepts
    with sync.Engine(store="memory://", passphrase="correct horse", providers={"notes": notes}) as engine:
        engine.stack("shop/dev", program(1)).up()
        stack = engine.stack("shop/dev", program(2))
        stack.up()
        stack.refresh()
        stack.destroy()
    urn = f"urn:pulumi:dev::shop::{NOTE}::a"
    assert set(notes.shown) == {
        f"{name}Request"
        for name in ("Check", "Configure", "Construct", "Create", "Delete", "Diff", "Invoke", "Method", "Read", "Update")
    } | {"Context"}
    assert not [text for text in notes.shown.values() if SECRET in text]
    assert notes.shown["CreateRequest"] == (
        f"CreateRequest(urn={urn!r}, type={NOTE!r}, name='a', timeout=0.0, preview=False, inputs={{'password': ..., 'size': ...}})"
    )
    assert notes.shown["UpdateRequest"].startswith(f"UpdateRequest(urn={urn!r}, type={NOTE!r}, name='a', id='id-[secret]', ignore_changes=[]")
    assert notes.shown["InvokeRequest"] == "InvokeRequest(token='notes:index:find', preview=False, arguments={'password': ...})"
    assert notes.shown["MethodRequest"].endswith("arguments={'password': ...})")
    assert notes.shown["Context"] == "<Context of shop/dev below urn:pulumi:dev::shop::notes:index:Box::box>"
    assert repr(notes) == "<Notes>"
    assert SECRET not in repr(sw.View("a:b:C", "part", {"password": SECRET}))


def test_the_texts_of_blocking_operations_say_whether_they_run() -> None:
    with sync.Engine(store="memory://", passphrase="correct horse", providers={"notes": Notes()}) as engine:
        stack = engine.stack("shop/dev", program(1))
        operation = stack.start_up()
        operation.wait()
        assert repr(operation) == "<Operation done>"


def test_the_record_of_an_exception_of_a_provider_has_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(sw.Provider):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            raise RuntimeError("refused")  # The line of hunter2-hunter2 is in the traceback.

        def delete(self, request: sw.DeleteRequest) -> None:
            pass

    def secretive(ctx: sw.Context) -> None:
        ctx.resource(NOTE, "a", {"password": sw.secret(SECRET)})

    stackwright.logging.enable("DEBUG")
    try:
        with (
            caplog.at_level(logging.DEBUG, "stackwright"),
            sync.Engine(store="memory://", passphrase="correct horse", providers={"notes": Failing()}) as engine,
            pytest.raises(sw.StackwrightError, match="refused"),
        ):
            engine.stack("shop/dev", secretive).up()
    finally:
        stackwright.logging.disable()
    raised = [record.getMessage() for record in caplog.records if "which is not a ProviderError" in record.getMessage()]
    assert len(raised) == 1 and "The line of [secret] is in the traceback" in raised[0] and SECRET not in raised[0]
