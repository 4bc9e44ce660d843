"""The options of a component reach the plugin that an SDK hosts, and what that registers."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, package_of, served, states

pytest.importorskip("pulumi")

# What each host passes on to the component beside the common options.
PASSED: dict[str, dict[str, Any]] = {
    "pybox": {"replacementTrigger": "one"},
    "tsbox": {"replacementTrigger": "one", "customTimeouts": {"create": 30, "update": 90}},
    "gobox": {"customTimeouts": {"create": 30, "update": 90}},
    "gobox_newest": {"replacementTrigger": "one", "customTimeouts": {"create": 30, "update": 90}},
}

VERSION = tuple(int(part) for part in metadata.version("pulumi").split(".")[:2])
# The hosts that read the URN of `deleted_with` as the reference of a provider, and register the component with an invalid one.
REFUSE_DELETED_WITH = {"tsbox"} if VERSION >= (3, 272) else {"tsbox", "pybox"}


# The hosts that register a component with an option; those of Python before 3.272 refuse `replace_with`, as they do `deleted_with`.
REGISTER = {
    "deletedWith": {"pybox", "gobox", "gobox_newest"} - REFUSE_DELETED_WITH,
    "replaceWith": {"pybox", "gobox_newest"} - REFUSE_DELETED_WITH,
    "additionalSecretOutputs": {"gobox", "gobox_newest"},
}
REFUSE = {"deletedWith": REFUSE_DELETED_WITH, "replaceWith": REFUSE_DELETED_WITH - {"tsbox"}, "additionalSecretOutputs": set[str]()}


@pytest.fixture(params=["pybox", "tsbox", "gobox"])
def package(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """Returns the package of each language and the command of its plugin."""
    return package_of(request.param, request)


def engine(tmp_path: Path, memory: Memory, package: tuple[str, list[str]]) -> sw.Engine:
    return sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        **served(dict([package])),
    )


@pytest.mark.parametrize("host", PASSED)
@on_loop
async def test_options_reach_the_component_and_what_is_below_it(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, host: str
) -> None:
    package, passed = package_of(host, request), PASSED[host]
    size, trigger, with_box = 1, "one", True

    async def program(ctx: sw.Context) -> None:
        special = ctx.provider("things", "special", {"region": "us"})
        first = ctx.resource("things:index:Thing", "first", {"size": 1})
        with_first: Any = {} if package[0] in REFUSE_DELETED_WITH else {"deleted_with": first}
        if with_box:
            ctx.remote_component(
                f"{package[0]}:index:Box",
                "box",
                {"size": size},
                providers=[special],
                depends_on=[first],
                replace_on_changes=["size"],
                replacement_trigger=trigger,
                custom_timeouts={"create": 30, "update": 90},
                retain_on_delete=True,
                **with_first,
            )

    async with engine(tmp_path, memory, package) as running:
        stack = await running.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        box, lid = known["box"], known["box-lid"]
        assert lid["provider"].startswith(known["special"]["urn"])
        assert known["first"]["urn"] in box["dependencies"]
        if package[0] not in REFUSE_DELETED_WITH:
            assert box["deletedWith"] == known["first"]["urn"]
        assert box["replaceOnChanges"] == ["size"]
        assert {name: box.get(name) for name in passed} == passed
        assert box["retainOnDelete"] and lid["retainOnDelete"]
        assert set((await stack.up()).changes) == {"same"}
        trigger = "two"
        await stack.up()
        if "replacementTrigger" in passed:
            assert states(await stack.export_deployment())["box"]["replacementTrigger"] == trigger
        with_box = False
        await stack.up()
        assert len(memory.things) == 2, "what is retained stays"
        assert "box" not in states(await stack.export_deployment())


@pytest.mark.parametrize("host", PASSED)
@pytest.mark.parametrize("option", REGISTER)
@on_loop
async def test_a_host_registers_a_component_with_an_option_leaves_it_out_or_refuses_it(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, host: str, option: str
) -> None:
    package = package_of(host, request)

    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 1})
        given: dict[str, dict[str, Any]] = {
            "deletedWith": {"deleted_with": first},
            "replaceWith": {"replace_with": [first]},
            "additionalSecretOutputs": {"additional_secret_outputs": ["doubled"]},
        }
        ctx.remote_component(f"{package[0]}:index:Box", "box", {"size": 1}, **given[option])

    async with engine(tmp_path, memory, package) as running:
        stack = await running.stack("shop/dev", program)
        error = (await stack.up().wait()).error
        known = states(await stack.export_deployment())
        if host in REFUSE[option]:
            what = option[0].upper() + option[1:]
            text = f'invalid {what} URN: invalid URN "urn:pulumi:dev::shop::things:index:Thing"'
            assert isinstance(error, sw.StackwrightError) and text in str(error) and known.keys().isdisjoint({"box", "box-lid"})
            return
        assert error is None and "box-lid" in known
        urn = known["first"]["urn"]
        values = {"deletedWith": urn, "replaceWith": [urn], "additionalSecretOutputs": ["doubled"]}
        assert known["box"].get(option) == (values[option] if host in REGISTER[option] else None)


@on_loop
async def test_targets_choose_what_changes_below_a_component(
    tmp_path: Path, memory: Memory, package: tuple[str, list[str]]
) -> None:
    size = 1

    async def program(ctx: sw.Context) -> None:
        box = ctx.remote_component(f"{package[0]}:index:Box", "box", {"size": size})
        other = ctx.remote_component(f"{package[0]}:index:Box", "other", {"size": size})
        ctx.export("doubled", [box["doubled"], other["doubled"]])

    async with engine(tmp_path, memory, package) as running:
        stack = await running.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        size = 2
        await stack.up(targets=[known["box-lid"]["urn"]])
        known = states(await stack.export_deployment())
        assert (known["box-lid"]["inputs"]["size"], known["other-lid"]["inputs"]["size"]) == (2, 1)
        await stack.up(excludes=[known["box-lid"]["urn"]])
        assert states(await stack.export_deployment())["other-lid"]["inputs"]["size"] == 2
        await stack.destroy(targets=[known["other-lid"]["urn"]])
        assert len(memory.things) == 1


@on_loop
async def test_a_refresh_with_the_program_reads_what_is_below_a_component(
    tmp_path: Path, memory: Memory, package: tuple[str, list[str]]
) -> None:
    async def program(ctx: sw.Context) -> None:
        ctx.remote_component(f"{package[0]}:index:Box", "box", {"size": 1})

    async with engine(tmp_path, memory, package) as running:
        stack = await running.stack("shop/dev", program)
        await stack.up()
        (id,) = memory.things
        memory.things[id] = {"size": 5}
        result = await stack.refresh(refresh_program=True)
        assert memory.count("read") == 1
        assert result.changes["update"] == 1
        assert states(await stack.export_deployment())["box-lid"]["outputs"]["size"] == 5
        await stack.destroy(destroy_program=True)
        assert memory.things == {}


@on_loop
async def test_a_component_of_a_provider_with_an_unknown_configuration_is_previewed_alone(
    tmp_path: Path, memory: Memory, package: tuple[str, list[str]]
) -> None:
    async def program(ctx: sw.Context) -> None:
        first = ctx.resource("things:index:Thing", "first", {"size": 1})
        boxes = ctx.provider(package[0], "boxes", {"region": first["made"]})
        box = ctx.remote_component(f"{package[0]}:index:Box", "box", {"size": 1}, provider=boxes)
        ctx.export("doubled", box["doubled"])

    async with engine(tmp_path, memory, package) as running:
        stack = await running.stack("shop/dev", program)
        preview: Any = await stack.preview()
        # The stack, the thing, the provider and the box, without its lid.
        assert preview.changes == {"create": 4}
        result = await stack.up()
        assert result.changes == {"create": 5}
        assert result.outputs["doubled"].value == 2


@on_loop
async def test_protection_and_ignored_changes_reach_the_component(
    tmp_path: Path, memory: Memory, package: tuple[str, list[str]]
) -> None:
    protect, with_box = True, True

    async def program(ctx: sw.Context) -> None:
        if with_box:
            inputs = {"size": 1, "label": "x"}
            ctx.remote_component(f"{package[0]}:index:Box", "box", inputs, protect=protect, ignore_changes=["label"])

    async with engine(tmp_path, memory, package) as running:
        stack = await running.stack("shop/dev", program)
        await stack.up()
        known = states(await stack.export_deployment())
        assert known["box"]["protect"] and known["box-lid"]["protect"]
        assert known["box"]["ignoreChanges"] == ["label"]
        assert "ignoreChanges" not in known["box-lid"], "children choose their own"
        with_box = False
        with pytest.raises(sw.StackwrightError, match="protect"):
            await stack.up(allow_empty=True)
        with pytest.raises(sw.StackwrightError, match="protect"):
            await stack.destroy()
        assert len(memory.things) == 1
        with_box, protect = True, False
        await stack.up()
        await stack.destroy()
        assert memory.things == {}


@pytest.mark.parametrize("package", ["pybox", "tsbox", "gobox", "gobox_newest"], indirect=True)
@on_loop
async def test_a_renamed_component_goes_on_with_what_is_below_it(
    tmp_path: Path, memory: Memory, package: tuple[str, list[str]]
) -> None:
    name = "box"

    async def program(ctx: sw.Context) -> None:
        ctx.remote_component(f"{package[0]}:index:Box", name, {"size": 1}, aliases=[{"name": "box"}])

    async with engine(tmp_path, memory, package) as running:
        stack = await running.stack("shop/dev", program)
        await stack.up()
        made = states(await stack.export_deployment())["box-lid"]["id"]
        name = "case"
        await stack.up()
        known = states(await stack.export_deployment())
        assert memory.count("create") == 1 and memory.count("delete") == 0
        assert known["case-lid"]["id"] == made and known["case-lid"]["parent"] == known["case"]["urn"]
        assert "box" not in known and "box-lid" not in known
