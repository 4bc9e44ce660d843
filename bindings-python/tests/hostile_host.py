"""A host whose callbacks raise and return odd values, run as a separate process.

It writes one line of JSON: the number of operations, and those with an unexpected end.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Callable
from typing import Any

import stackwright as sw

DEADLINE = 30.0


def fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError("inspected")


class Odd:
    __str__ = __repr__ = __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __getattr__ = fails


class OddClass:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("the class is asked for")


class OddDel:
    def __del__(self) -> None:
        raise RuntimeError("it is deleted")


class OddError(Exception):
    __str__ = __repr__ = __eq__ = __hash__ = fails


class OddArguments(Exception):
    @property
    def args(self) -> Any:  # type: ignore[override]
        raise RuntimeError("the arguments are asked for")


class OddTextError(Exception):
    def __str__(self) -> Any:
        return 7


class OddBase(BaseException):
    __str__ = __repr__ = fails


class OddDict(dict[Any, Any]):
    __iter__ = keys = items = get = __getitem__ = fails


class OddText(str):
    __str__ = __hash__ = __eq__ = encode = fails


def cycle() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["self"] = made
    return made


def deep() -> Any:
    made: Any = {}
    for _ in range(5_000):
        made = {"value": made}
    return made


VALUES: dict[str, Callable[[], Any]] = {
    "odd": Odd,
    "odd class": OddClass,
    "odd del": OddDel,
    "odd dict": OddDict,
    "odd text": lambda: OddText("x"),
    "cycle": cycle,
    "deep": deep,
    "surrogate": lambda: "\ud800",
    "not a number": lambda: float("nan"),
    "huge": lambda: 10**400,
    "bytes": lambda: b"\xff",
    "set": lambda: {1, 2},
    "odd keys": lambda: {1: 2, None: 3},
    "generator": lambda: (value for value in (1, 2)),
    "type": lambda: Odd,
    "none": lambda: None,
    "number": lambda: 7,
    "empty text": lambda: "",
    "list": lambda: [None],
}
ERRORS: dict[str, Callable[[], BaseException]] = {
    "odd error": OddError,
    "odd arguments": OddArguments,
    "odd text error": OddTextError,
    "error of odd": lambda: ValueError(Odd()),
    "odd base": OddBase,
    "base": lambda: BaseException("base"),
    "generator exit": GeneratorExit,
    "stop": StopIteration,
    "stop async": StopAsyncIteration,
    "surrogate error": lambda: ValueError("\ud800"),
    "key of odd": lambda: KeyError(Odd()),
    "odd cause": lambda: caused(),
    "exit": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "cancelled": asyncio.CancelledError,
}


def caused() -> BaseException:
    error = ValueError("caused")
    error.__cause__ = OddError()
    return error


class Places:
    """The armed callback and its odd value; ``hits`` counts its calls."""

    def __init__(self) -> None:
        self.armed: tuple[str, str] | None = None
        self.hits = 0

    def at(self, place: str, usual: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if self.armed is None or self.armed[0] != place:
                return usual(*arguments)
            self.hits += 1
            value = self.armed[1]
            if value in ERRORS:
                raise ERRORS[value]()
            return VALUES[value]()

        return call

    def of_one(self, place: str, usual: Callable[[Any], Any]) -> Callable[[Any], Any]:
        call = self.at(place, usual)
        return lambda argument: call(argument)


places = Places()


class Calm(sw.Provider):
    made = 0

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        Calm.made += 1
        return sw.CreateResult(f"{request.name}-{Calm.made}", request.inputs)

    def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        return sw.UpdateResult(request.inputs)

    def read(self, request: sw.ReadRequest) -> sw.ReadResult:
        return sw.ReadResult(request.id, request.outputs, request.inputs)

    def delete(self, request: sw.DeleteRequest) -> None:
        pass

    def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
        return sw.InvokeResult(request.arguments)


class Hostile(Calm):
    def check_config(self, request: Any) -> Any:
        return places.at("check_config", lambda: sw.CheckResult(request.inputs))()

    def diff_config(self, request: Any) -> Any:
        return places.at("diff_config", lambda: sw.DiffResult())()

    def configure(self, request: Any) -> Any:
        return places.at("configure", lambda: None)()

    def check(self, request: Any) -> Any:
        return places.at("check", lambda: sw.CheckResult(request.inputs))()

    def diff(self, request: Any) -> Any:
        return places.at("diff", lambda: sw.DiffResult(changes=True))()

    def create(self, request: Any) -> Any:
        return places.at("create", super().create)(request)

    def update(self, request: Any) -> Any:
        return places.at("update", super().update)(request)

    def read(self, request: Any) -> Any:
        return places.at("read", super().read)(request)

    async def delete(self, request: Any) -> Any:  # type: ignore[override]
        return places.at("delete", super().delete)(request)

    def invoke(self, request: Any) -> Any:
        return places.at("invoke", super().invoke)(request)

    async def construct(self, ctx: sw.Context, request: Any) -> Any:
        ctx.resource("calm:index:Thing", f"{request.name}-lid", {})
        outputs = places.at("construct outputs", lambda: 1)()
        return places.at("construct", lambda: {"size": outputs})()

    async def call(self, ctx: sw.Context, request: Any) -> Any:
        return places.at("call", lambda: sw.InvokeResult({"size": places.at("call result", lambda: 1)()}))()


class Failing(Calm):
    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        raise sw.ProviderError("out of order")


class Vault:
    kind = "vault"
    state = None

    def encrypt(self, texts: Any) -> Any:
        return places.at("encrypt", lambda: ["v:" + text[::-1] for text in texts])()

    def decrypt(self, texts: Any) -> Any:
        return places.at("decrypt", lambda: [text[2:][::-1] for text in texts])()


class AsyncVault(Vault):
    """The secrets of one stack: its functions run on the shared loop of asynchronous providers."""

    async def encrypt(self, texts: Any) -> Any:
        return places.at("async encrypt", lambda: ["v:" + text[::-1] for text in texts])()

    async def decrypt(self, texts: Any) -> Any:
        return places.at("async decrypt", lambda: [text[2:][::-1] for text in texts])()


class Reader:
    def outputs(self, stack: str) -> Any:
        return places.at("stack_outputs", lambda: {"a": 1})()

    def resource_outputs(self, stack: str) -> Any:
        return places.at("stack_resource_outputs", lambda: {})()


class Installs:
    def is_installed(self, plugin: Any) -> Any:
        return places.at("is_installed", lambda: False)()

    def latest_version(self, plugin: Any) -> Any:
        return places.at("latest_version", lambda: None)()

    def install(self, plugin: Any) -> Any:
        return places.at("install", lambda: False)()


revision = 0


def transformed(args: sw.TransformArgs) -> Any:
    inputs = places.at("transform inputs", lambda: args.inputs)()
    options = places.at("transform options", lambda: {"protect": False})()
    return places.at("transform", lambda: sw.TransformResult(inputs=inputs, options=options))()


async def transformed_async(args: sw.TransformArgs) -> Any:
    return places.at("async transform", lambda: None)()


def call_transformed(args: sw.InvokeTransformArgs) -> Any:
    arguments = places.at("transform arguments", lambda: args.arguments)()
    return places.at("invoke transform", lambda: sw.InvokeTransformResult(arguments=arguments))()


async def hooked_async(args: sw.HookArgs) -> Any:
    return places.at("async hook", lambda: None)()


def functions(ctx: sw.Context) -> None:
    ctx.transform(transformed_async)
    ctx.transform_invokes(call_transformed)
    hook = sw.Hook("hook", places.of_one("hook", lambda args: None))
    hooks = sw.Hooks(before_create=[hook, hooked_async], on_error=[sw.ErrorHook("again", places.of_one("error hook", lambda args: False))])
    ctx.resource("mem:index:Thing", "a", {"x": 1}, transforms=[transformed], hooks=hooks)
    ctx.invoke("mem:index:echo", {"x": 1})
    if places.armed is not None and places.armed[0] == "error hook":
        ctx.resource("failing:index:Thing", "b", {}, hooks=hooks)


def components(ctx: sw.Context) -> None:
    box = ctx.remote_component("mem:index:Box", "box", {"size": 1})
    ctx.export("size", ctx.call("mem:index:Box/open", box, {"size": 1}))


def policies() -> list[sw.Policy]:
    return [
        sw.Policy("check", check=places.of_one("policy check", lambda resource: None)),
        sw.Policy("remediate", remediate=places.of_one("policy remediate", lambda resource: None)),
        sw.Policy("stack", check_stack=places.of_one("policy check_stack", lambda stack: None)),
    ]


def program(ctx: sw.Context) -> None:
    global revision
    revision += 1
    thing = ctx.resource("mem:index:Thing", "a", {"revision": revision, "password": sw.Secret(f"hidden-{revision}")})
    ctx.resource("mem:index:Thing", "asset", {"file": sw.Asset(uri="https://example.invalid/x")})
    ctx.resource("found:index:Thing", "found", {})
    if places.armed is not None and places.armed[0] == "input":
        ctx.resource("mem:index:Thing", "odd", {"value": places.at("input", lambda: 1)()})
    ctx.export("applied", thing.id.apply(places.at("apply", lambda id: id)))
    ctx.export("value", places.at("export", lambda: 1)())
    ctx.export("invoked", ctx.invoke("mem:index:echo", {"x": 1}))
    if places.armed is not None and places.armed[0] == "log":
        ctx.log(places.at("log", lambda: "fine")())
    ctx.invoke("pulumi:pulumi:readStackResourceOutputs", {"stackName": "shop/other"})
    ctx.read("pulumi:pulumi:StackReference", "other", "shop/other", {"name": "shop/other"})
    places.at("program", lambda: None)()


async def async_program(ctx: sw.Context) -> None:
    ctx.resource("mem:index:Thing", "a", {})
    places.at("async program", lambda: None)()


def missing(ctx: sw.Context) -> None:
    ctx.resource("missing:index:Thing", "m", {})


def calm(ctx: sw.Context) -> None:
    for number in range(3):
        ctx.resource("calm:index:Thing", f"t{number}", {"revision": revision})


FUNCTIONS: tuple[str, ...] = (
    "transform", "transform inputs", "transform options", "async transform", "invoke transform", "transform arguments",
    "hook", "async hook", "error hook",
)  # fmt: skip
"""Transforms and hooks of a program."""
COMPONENTS: tuple[str, ...] = ("construct", "construct outputs", "call", "call result")
POLICIES: tuple[str, ...] = ("policy check", "policy remediate", "policy check_stack")
PLACES = tuple(sys.argv[1:]) or (
    "program", "async program", "apply", "input", "export", "log",
    "check_config", "diff_config", "configure", "check", "diff", "create", "update", "read", "delete", "invoke",
    "resolver", "is_installed", "latest_version", "install", "autonamer", "journal", "on_event",
    "encrypt", "decrypt", "async encrypt", "async decrypt", "fetch", "stack_outputs", "stack_resource_outputs",
    *FUNCTIONS, *COMPONENTS, *POLICIES,
)  # fmt: skip
OWN_LOOP = ("on_event", "async program")
"""Callbacks on the host's event loop: an exit or interrupt there ends the loop, as intended by the host."""
LATER = ("diff_config", "diff", "update", "read", "delete", "decrypt", "async decrypt")
"""Callbacks that the first update of a stack does not call."""


async def outcome(work: Any) -> str:
    try:
        await asyncio.wait_for(work, DEADLINE)
    except sw.StackwrightError as error:
        str(error), repr(error)
        return f"{error.kind}: {error.message}"
    except asyncio.TimeoutError:
        return "not settled"
    except BaseException as error:  # noqa: BLE001
        return f"untyped: {type(error).__name__}"
    return "succeeded"


async def main() -> None:
    pick = random.Random(20261122)
    failures, neighbours, missed = [], set(), set(PLACES)
    operations = 0
    engine = sw.Engine(
        store="memory://",
        providers={"mem": Hostile(), "calm": Calm(), "failing": Failing()},
        resolver=places.of_one("resolver", lambda request: Calm() if request.name == "found" else None),
        installer=Installs(),
        autonamer=places.of_one("autonamer", lambda request: f"{request.name}-named"),
        secrets=Vault(),
        fetch=places.of_one("fetch", lambda uri: b"content"),
        stack_reader=Reader(),
    )
    neighbour = await engine.stack("shop/calm", calm)
    for place in PLACES:
        names = [*VALUES, *ERRORS]
        for name in pick.sample(names, len(names)):
            if place in OWN_LOOP and name in ("exit", "interrupt", "cancelled", "base", "odd base", "generator exit"):
                continue
            receive = places.of_one("journal", lambda entry: None)
            listener = places.of_one("on_event", lambda event: None)
            run = async_program if place == "async program" else program
            if place in ("is_installed", "latest_version", "install"):
                run = missing
            if place in FUNCTIONS:
                run = functions
            if place in COMPONENTS:
                run = components
            vault = AsyncVault() if place in ("async encrypt", "async decrypt") else None
            stack = await engine.stack(f"shop/s{operations}", run, journal=receive, secrets=vault)
            if place in LATER:
                await outcome(stack.up())
                config: Any = {"mem:region": "b"}
                stack = await engine.stack(f"shop/s{operations}", run, journal=receive, config=config, secrets=vault)
            places.armed, places.hits = (place, name), 0
            work: Any = {"read": stack.refresh, "delete": stack.destroy}.get(place, stack.up)
            options: Any = {"policies": policies()} if place in POLICIES else {}
            running = [outcome(work(on_event=listener, **options))]
            if operations % 6 == 0 and place not in ("encrypt", "decrypt", "resolver", "autonamer"):
                running.append(outcome(neighbour.up()))
            ended, *others = await asyncio.gather(*running)
            neighbours.update(others)
            if places.hits:
                missed.discard(place)
            places.armed = None
            own = place == "on_event" and ended.startswith("untyped")
            if not own and (ended.startswith(("untyped", "not settled", "internal"))):
                failures.append(f"{place}, {name}: {ended}")
            operations += 1
    await engine.close()
    print(json.dumps({"operations": operations, "failures": failures, "neighbours": sorted(neighbours), "missed": sorted(missed)}))


if __name__ == "__main__":
    sys.unraisablehook = lambda _: None
    asyncio.run(main())
