"""A component in Python whose output is what has arrived at its host: the options, and the marks of each input."""

import json
from typing import Any, Optional, TypedDict

import pulumi


class MirrorArgs(TypedDict):
    size: pulumi.Input[Any]
    key: Optional[pulumi.Input[str]]


class Thing(pulumi.CustomResource):
    def __init__(self, name: str, size: Any, opts: pulumi.ResourceOptions) -> None:
        super().__init__("things:index:Thing", name, {"size": size}, opts)


async def named(resources: Any) -> list[str]:
    """Returns the names of resources."""
    if isinstance(resources, pulumi.Resource):
        resources = [resources]
    urns = [await resource.urn.future() for resource in resources or []]
    return sorted(str(urn).rsplit("::", 1)[-1] for urn in urns)


def alias(given: Any) -> str:
    return given if isinstance(given, str) else f"name {given.name}"


async def marks(given: Any) -> dict[str, Any]:
    output = pulumi.Output.from_input(given)
    found = {"known": await output.is_known(), "secret": await output.is_secret()}
    return {**found, "from": await named(await output.resources())}


async def seen(args: MirrorArgs, opts: pulumi.ResourceOptions) -> str:
    timeouts, hooks = opts.custom_timeouts, opts.hooks
    providers: Any = opts.providers or {}
    options = {
        "aliases": [alias(given) for given in opts.aliases or []],
        "customTimeouts": timeouts and {"create": timeouts.create, "update": timeouts.update},
        "deletedWith": await named(opts.deleted_with),
        "dependsOn": await named(opts.depends_on),
        "hooks": [hook if isinstance(hook, str) else hook.name for hook in (hooks and hooks.after_create) or []],
        "ignoreChanges": opts.ignore_changes,
        "parent": await named(opts.parent),
        "protect": opts.protect,
        "providers": {package: (await named(provider))[0] for package, provider in providers.items()},
        "replaceOnChanges": opts.replace_on_changes,
        "replacementTrigger": getattr(opts, "replacement_trigger", None),
        "retainOnDelete": opts.retain_on_delete,
    }
    inputs = {name: await marks(given) for name, given in args.items()}
    return json.dumps({"inputs": inputs, "options": {name: value for name, value in options.items() if value}})


class Mirror(pulumi.ComponentResource):
    """A component with a thing."""

    seen: pulumi.Output[str]

    def __init__(self, name: str, args: MirrorArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
        super().__init__("pybox:index:Mirror", name, {}, opts)
        Thing(f"{name}-thing", args["size"], pulumi.ResourceOptions(parent=self))
        self.seen = pulumi.Output.from_input(seen(args, opts or pulumi.ResourceOptions()))
        self.register_outputs({"seen": self.seen})
