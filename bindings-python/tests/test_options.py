"""Wrong options: the error names the option, the expected type and the given value."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault


def program(ctx: sw.Context) -> None:
    pass


class Half:
    kind = "half"

    def encrypt(self, plaintexts: list[str]) -> list[str]:
        return plaintexts


class Hasty(Memory):
    def create(self) -> sw.CreateResult:  # type: ignore[override]
        raise AssertionError("it is never called")


FLAGS = [name for name, kind in sw.OperationOptions.__annotations__.items() if "bool" in str(kind) and name not in ("accept_moves", "dry_run")]


@pytest.mark.parametrize("make", [sw.Engine, sync.Engine])
@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("store", None, "the options of an engine lack store"),
        ("store", 5, "store takes a URL as a string, not a number, in the options of an engine"),
        ("passphrase", "", "passphrase takes a text that is not empty; leave it out to have secrets only encoded"),
        ("passphrase", 5, "passphrase takes a string, not a number, in the options of an engine"),
        ("providers", {"": Memory()}, "providers takes a dictionary by the names of packages, which are texts without spaces, colons and slashes, not by ''"),
        ("providers", {5: Memory()}, "slashes, not by 5"),
        ("providers", {"a:b": Memory()}, "slashes, not by 'a:b'"),
        ("providers", {"a b": Memory()}, "slashes, not by 'a b'"),
        ("providers", {"mem": Hasty()}, "the provider of 'mem' takes a method create that is called with one argument, not one without parameters"),
        ("plugins", sw.Plugins(directories="/plugins"), "plugins.directories takes a list of paths of folders, not a string"),
        ("plugins", sw.Plugins(directories=[5]), "plugins.directories[0] takes a string, not a number"),  # type: ignore[list-item]
        ("plugins", sw.Plugins(commands={"aws": "run"}), "plugins.commands['aws'] takes a list of strings: the program and its arguments, not a string"),
        ("resolver", lambda: None, "resolver takes a function that is called with one argument, not one without parameters"),
        ("fetch", lambda a, b: None, "fetch takes a function that is called with one argument, not one with the parameters (a, b)"),
        ("fetch", 5, "fetch takes a function, not int"),
        ("autonamer", lambda: None, "autonamer takes a function that is called with one argument"),
        ("stack_reader", lambda: None, "stack_reader takes a function that is called with one argument"),
        ("stack_reader", 5, "stack_reader takes a function, not int"),
        ("installer", lambda: None, "installer takes a function that is called with one argument, not one without parameters"),
        ("installer", 5, "installer has none of the methods is_installed, latest_version, install, and is no function: int"),
        ("secrets", Half(), "secrets takes an object with kind, encrypt and decrypt; Half has no decrypt"),
        ("secrets", "vault", "secrets takes an object with kind, encrypt and decrypt; str has no kind and no encrypt and no decrypt"),
        ("base_directory", 5, "base_directory takes the path of a folder, not a number"),
        ("threads", True, "threads takes a number from 1 to 1024, not True"),
        ("provider_threads", "8", "provider_threads takes a number from 1 to 1024, not '8'"),
    ],
)
def test_a_wrong_option_of_an_engine_is_named(
    make: Callable[..., object], option: str, value: Any, expected: str
) -> None:
    with pytest.raises(sw.InvalidInputError, match=re.escape(expected)):
        make(**{"store": "memory://", option: value})


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("name", 5, "name takes a text, project/stack, not int"),
        ("program", 5, "program takes a function, not int"),
        (
            "program",
            lambda a, b: None,
            "program takes a function of the context, or one without parameters that is written for the Pulumi SDK, not one "
            "with the parameters (a, b)",
        ),
        ("program", sw.pulumi_program(program), "pulumi_program() takes a function that is called without arguments"),  # type: ignore[arg-type]
        ("program", sw.LanguageRuntime(5), "LanguageRuntime takes an address as a text, not int"),  # type: ignore[arg-type]
        ("config", ["a"], "config takes values by key, not a list, in the options of a stack"),
        ("config", {5: "x"}, "config takes a dictionary whose keys are texts, not a value of type int"),
        ("config", {"x": object()}, "config: the value of shop:x is or holds a value of type object, which is neither text nor structure"),
        ("config", {"x": {5: 1}}, "config: the value of shop:x is or holds a key that is a value of type int"),
        ("jurnal", print, "unknown option 'jurnal' of a stack; did you mean 'journal'?"),
        ("organization", 5, "organization takes a string, not a number, in the options of a stack"),
        ("tags", {5: "x"}, "tags: a key of type int cannot be written as JSON; keys are texts"),
        ("tags", {"x": 5}, "tags['x'] takes a string, not a number"),
        ("root_directory", "/no/such/folder", "root_directory takes the path of a folder that exists, and \"/no/such/folder\" is none"),
        ("root_directory", 5, "root_directory takes the path of a folder, not a number"),
        ("create", "no", "create takes True or False, not a string"),
        ("journal", lambda: None, "journal takes a function that is called with one argument, not one without parameters"),
        ("journal", 5, "journal takes a function, not int"),
    ],
)
def test_a_wrong_option_of_a_stack_is_named(make_engine: MakeEngine, option: str, value: Any, expected: str) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            with pytest.raises(sw.InvalidInputError, match=re.escape(expected)):
                await engine.stack(**{"name": "shop/dev", option: value})
            assert await engine.stacks() == []

    asyncio.run(run())


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        *((name, "yes", f"{name} takes True or False, not a string, in the options of up()") for name in FLAGS),
        ("accept_moves", "yes", "accept_moves takes a truth value, or a list of suggested moves, not a string, in the options of up()"),
        ("parallel", "3", "parallel takes a whole number from 0 to 2147483647, not a string"),
        ("parallel", -1, "parallel takes a whole number from 0 to 2147483647, not -1"),
        ("parallel", 2**31, "parallel takes a whole number from 0 to 2147483647, not 2147483648"),
        ("parallel", True, "parallel takes a whole number from 0 to 2147483647, not True"),
        *(
            (name, float(number), f"{name} takes a number of seconds {range_}, not {number}, in the options of up()")
            for name, range_ in (("callback_timeout", "above 0"), ("timeout", "above 0"), ("wait_for_lock", "from 0"))
            for number in ("inf", "nan")
        ),
        ("parallel", float("inf"), "parallel takes a whole number from 0 to 2147483647, not inf"),
        ("nothing", float("inf"), "unknown option 'nothing' of up(); there are: "),
        ("targets", "urn", "targets takes a list of URNs or globs, not a string"),
        ("excludes", [5], "excludes[0] takes a string, not a number"),
        ("replace_targets", {"a": 1}, "replace_targets takes a list of URNs or globs, not a dictionary"),
        ("required_policies", 5, "required_policies takes a list of dictionaries, not a number"),
        ("required_policies", ["guard"], "required_policies[0] takes a dictionary, not a string"),
        ("local_policy_packs", [{"nam": "x"}], "unknown member 'nam' of local_policy_packs[0] in the options of up(); did you mean 'name'?"),
        ("local_policy_packs", [{"name": "x", "version": 1}], "local_policy_packs[0].version takes a string, not a number"),
        ("message", 5, "message takes a string, not a number"),
        ("snippets", 5, "snippets takes a list of dictionaries, not a number"),
        ("plan", [], "plan takes the result of a preview or a document, not list"),
        ("plan", {"a": object()}, "plan['a']: a value of type object cannot be written as JSON"),
        ("on_evnt", print, "unknown option 'on_evnt' of up(); did you mean 'on_event'?"),
        ("local_policy_packs", [{"version": "1.0.0"}], "a policy pack in the options has neither a name nor a path"),
        ("holdSession", True, "unknown option 'holdSession' of up(); did you mean 'hold_session'?"),
        ("nothing", True, "unknown option 'nothing' of up(); there are: accept_moves, allow_empty, callback_timeout, "),
        ("on_event", lambda: None, "on_event takes a function that is called with one argument, not one without parameters"),
        ("program", lambda a, b: None, "program takes a function of the context"),
    ],
)
def test_a_wrong_option_of_an_operation_is_named_before_anything_starts(
    make_engine: MakeEngine, option: str, value: Any, expected: str
) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", program)
            with pytest.raises(sw.InvalidInputError, match=re.escape(expected)):
                stack.up(**{option: value})
            assert await stack.history() == []

    asyncio.run(run())


def test_errors_name_positional_plans_and_other_arguments(make_engine: MakeEngine, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", program, root_directory=tmp_path)
            with pytest.raises(sw.InvalidInputError, match="plan takes the result of a preview or a document, not list"):
                stack.up([])  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="deployment takes .*, or JSON as text or bytes, not list"):
                await stack.import_deployment([])  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="force takes True or False, not the text 'yes'"):
                await stack.remove(force="yes")  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="project takes a text, not int"):
                await engine.stacks(5)  # type: ignore[arg-type]

    asyncio.run(run())


def test_callbacks_may_have_optional_parameters() -> None:
    def fetch(uri: str, tries: int = 3) -> bytes:
        return b""

    class Reader:
        def outputs(self, stack: str, fresh: bool = True) -> dict[str, Any]:
            return {}

        def resource_outputs(self, *names: str) -> dict[str, Any]:
            return {}

    sw.Engine(store="memory://", stack_reader=Reader(), fetch=fetch, secrets=Vault(), installer=lambda plugin: None)


@pytest.mark.parametrize("verb", ["preview", "up", "refresh", "destroy"])
def test_errors_about_resources_of_a_missing_plugin_have_hints(make_engine: MakeEngine, verb: str) -> None:
    def urn(type: str, name: str) -> str:
        return f"urn:pulumi:dev::shop::{type}::{name}"

    provider = {"urn": urn("pulumi:providers:nowhere", "default"), "custom": True, "id": "1", "type": "pulumi:providers:nowhere"}
    thing = {"urn": urn("nowhere:index:Thing", "a"), "custom": True, "id": "a-1", "type": "nowhere:index:Thing"}
    thing["provider"] = f"{provider['urn']}::1"

    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", lambda ctx: ctx.resource("nowhere:index:Thing", "a"))
            await stack.import_deployment({"version": 3, "deployment": {"resources": [provider, thing]}})
            with pytest.raises(sw.StackwrightError, match="the resource plugin `nowhere` was not found") as caught:
                await getattr(stack, verb)()
            (hint,) = caught.value.hints
            assert all(option in hint for option in ("(plugins)", "(providers)", "resolver", "installer"))
            kept = await stack.export_deployment()
            assert [record["urn"] for record in kept["deployment"]["resources"]][-1] == thing["urn"]

    asyncio.run(run())


def test_the_error_of_a_missing_plugin_has_hints(make_engine: MakeEngine) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", lambda ctx: ctx.resource("nowhere:index:Thing", "a"))
            with pytest.raises(sw.StackwrightError, match="the resource plugin `nowhere` was not found") as caught:
                await stack.up()
            (hint,) = caught.value.hints
            assert all(option in hint for option in ("(plugins)", "(providers)", "resolver", "installer"))

    asyncio.run(run())
