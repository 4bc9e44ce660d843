"""What a program of the Pulumi SDK gives a component arrives at the host of the component, and is in the state."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Memory, Vault, on_loop, package_of, served, states

pulumi = pytest.importorskip("pulumi")


VERSION = tuple(int(part) for part in metadata.version("pulumi").split(".")[:2])

# What each host leaves out of the options of a component.
LEFT_OUT: dict[str, set[str]] = {
    # Hosts of older versions read the URN of `deleted_with` as the reference of a provider.
    "pybox": {"customTimeouts"} if VERSION >= (3, 272) else {"customTimeouts", "deletedWith"},
    # It reads the URN of `deleted_with` as the reference of a provider, and registers the component with an invalid one.
    "tsbox": {"deletedWith"},
    "gobox": {"hooks", "replacementTrigger"},
    "gobox_newest": set(),
}


class Thing(pulumi.CustomResource):  # type: ignore[misc, name-defined]
    def __init__(self, name: str, opts: Any = None) -> None:
        super().__init__("things:index:Thing", name, {"size": 1}, opts)


class Special(pulumi.ProviderResource):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__("things", "special", {"region": "us"})


class Mirror(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    seen: Any

    def __init__(self, package: str, name: str, inputs: dict[str, Any], opts: Any) -> None:
        super().__init__(f"{package}:index:Mirror", name, {"seen": None, **inputs}, opts, remote=True)


def expected(host: str, package: str, **size: Any) -> dict[str, Any]:
    """Returns what a mirror has as its output: its options and the marks of its inputs."""
    timeouts = {"create": "30s", "update": "1m30s"}
    # The engine sends each alias as a URN, too; hosts in Go know only these.
    urn = f"urn:pulumi:dev::shop::{package}:index:Mirror::former"
    options: dict[str, Any] = {
        "aliases": [urn] if package == "gobox" else ["name former", urn],
        "customTimeouts": timeouts,
        "deletedWith": ["first"],
        "dependsOn": ["first", "second"],
        "hooks": ["note"],
        "ignoreChanges": ["key"],
        "parent": ["group"],
        "protect": True,
        "providers": {"things": "special"},
        "replaceOnChanges": ["size"],
        "replacementTrigger": "one",
        "retainOnDelete": True,
    }
    kept = {name: value for name, value in options.items() if name not in LEFT_OUT[host]}
    key = {"known": True, "secret": True, "from": []}
    return {"inputs": {"size": {"secret": False, "from": ["first"], **size}, "key": key}, "options": kept}


def recorded(host: str, urn: str, second: str) -> dict[str, Any]:
    """Returns the options of a mirror in the state."""
    options = {
        "customTimeouts": {"create": 30, "update": 90},
        "deletedWith": urn,
        "dependencies": [urn, second],
        "hooks": {"AfterCreate": ["note"]},
        "ignoreChanges": ["key"],
        "protect": True,
        "replaceOnChanges": ["size"],
        "replacementTrigger": "one",
        "retainOnDelete": True,
    }
    return {name: None if name in LEFT_OUT[host] else value for name, value in options.items()}


@pytest.mark.parametrize("host", LEFT_OUT)
@on_loop
async def test_options_and_inputs_of_an_sdk_program_arrive_at_the_host(
    tmp_path: Path, memory: Memory, request: pytest.FixtureRequest, host: str
) -> None:
    package, command = package_of(host, request)
    found: list[Any] = []
    phase = "former"

    def options(first: Any, second: Any) -> Any:
        hook = pulumi.ResourceHook("note", lambda args: None)
        return pulumi.ResourceOptions(
            parent=pulumi.ComponentResource("shop:index:Group", "group"),
            providers={"things": Special()},
            aliases=[pulumi.Alias(name="former", parent=pulumi.ROOT_STACK_RESOURCE)],
            depends_on=[second],
            protect=True,
            ignore_changes=["key"],
            replace_on_changes=["size"],
            deleted_with=None if "deletedWith" in LEFT_OUT[host] else first,
            replacement_trigger="one",
            custom_timeouts=pulumi.CustomTimeouts(create="30s", update="90s"),
            retain_on_delete=True,
            hooks=pulumi.ResourceHookBinding(after_create=[hook]),
        )

    def program() -> None:
        first, second = Thing("first"), Thing("second")
        inputs = {"size": first.id, "key": pulumi.Output.secret("hunter2")}
        if phase == "former":
            mirror = Mirror(package, "former", inputs, pulumi.ResourceOptions(providers={"things": Special()}))
        else:
            mirror = Mirror(package, "mirror", inputs, options(first, second))
        mirror.seen.apply(lambda text: found.append(json.loads(text)))

    async with sw.Engine(
        store=f"file://{tmp_path / 'state'}",
        secrets=Vault(),
        providers={"things": memory},
        **served({package: command}),
    ) as engine:
        empty = await engine.stack("shop/dev", program)
        phase = "mirror"
        await empty.preview()
        assert found.pop() == expected(host, package, known=False)

        phase = "former"
        stack = await engine.stack("shop/dev", program)
        await stack.up()
        made = states(await stack.export_deployment())["former-thing"]
        # What the inputs come from is among the dependencies.
        assert found.pop()["options"] == {"dependsOn": ["first"], "parent": ["shop-dev"], "providers": {"things": "special"}}

        phase = "mirror"
        await stack.up()
        assert found.pop() == expected(host, package, known=True)
        known = states(await stack.export_deployment())
        mirror, thing, first = known["mirror"], known["mirror-thing"], known["first"]
        in_state = {**mirror, "dependencies": sorted(mirror["dependencies"]), "hooks": mirror.get("resourceHooks")}
        options_in_state = recorded(host, first["urn"], known["second"]["urn"])
        assert {name: in_state.get(name) for name in options_in_state} == options_in_state
        assert mirror["parent"] == known["group"]["urn"] and mirror["urn"].endswith("Mirror::mirror")
        # What is below the component gets its alias, its providers and what is inherited.
        assert (thing["id"], memory.count("create"), memory.count("delete")) == (made["id"], 3, 0)
        assert thing["provider"].startswith(known["special"]["urn"] + "::")
        assert thing["protect"] and thing["retainOnDelete"] and "ignoreChanges" not in thing
        assert "hunter2" not in str(known)
        with pytest.raises(sw.StackwrightError, match="protect"):
            await stack.destroy()
        assert memory.count("delete") == 0
