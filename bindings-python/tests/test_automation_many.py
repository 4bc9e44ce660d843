"""Many stacks at once over the Automation API: in threads and in tasks of an event loop, programs of the process and programs of folders."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pulumi
from stackwright import automation as auto

from conftest import MakeEngine, Memory

DEADLINE = 120
"""How long the stacks may take, in seconds."""

STACKS = 100
EVERY = 20
"""Every twentieth program is that of a folder; every second stack is run by a task of an event loop."""

MAIN = """\
import os
import pulumi

config = pulumi.Config()
mark = config.require("mark")


def marked(args):
    return pulumi.ResourceTransformResult({**args.props, "mark": mark}, args.opts)


def noted(args):
    pulumi.log.info(f"the hook {mark} of {args.name}")


pulumi.runtime.register_resource_transform(marked)
hooks = pulumi.ResourceHookBinding(after_create=[pulumi.ResourceHook("noted", noted)])
properties = {"size": config.require_int("size")}
thing = pulumi.CustomResource("mem:index:Thing", f"thing-{mark}", properties, pulumi.ResourceOptions(hooks=hooks))
pulumi.log.info(f"the program {mark}")
pulumi.export("stack", pulumi.get_stack())
pulumi.export("mark", mark)
pulumi.export("secret", config.require_secret("secret"))
pulumi.export("urn", thing.urn)
pulumi.export("variable", os.environ["SHOP_MARK"])
"""


def program() -> None:
    """The same program as that of the folders, without its variable: the variables of inline programs are those of the process."""
    config = pulumi.Config()
    mark = config.require("mark")

    def marked(args: pulumi.ResourceTransformArgs) -> pulumi.ResourceTransformResult:
        return pulumi.ResourceTransformResult({**args.props, "mark": mark}, args.opts)

    def noted(args: pulumi.ResourceHookArgs) -> None:
        pulumi.log.info(f"the hook {mark} of {args.name}")

    pulumi.runtime.register_resource_transform(marked)
    hooks = pulumi.ResourceHookBinding(after_create=[pulumi.ResourceHook("noted", noted)])
    properties = {"size": config.require_int("size")}
    thing = pulumi.CustomResource("mem:index:Thing", f"thing-{mark}", properties, pulumi.ResourceOptions(hooks=hooks))

    async def later() -> str:
        # Other programs run before the rest of this one.
        await asyncio.sleep(0)
        pulumi.log.info(f"the program {pulumi.Config().require('mark')}")
        return pulumi.get_stack()

    pulumi.export("stack", pulumi.Output.from_input(later()))
    pulumi.export("mark", mark)
    pulumi.export("secret", config.require_secret("secret"))
    pulumi.export("urn", thing.urn)


def marks(text: str) -> set[str]:
    return set(re.findall(r"\bm\d+x\b", text))


def opened(root: Path, command: auto.Command, number: int) -> auto.Stack:
    variables = {"PULUMI_HOME": str(root / "home"), "SHOP_MARK": f"m{number}x"}
    opts = auto.LocalWorkspaceOptions(pulumi_command=command, env_vars=variables)
    if number % EVERY:
        return auto.create_or_select_stack(f"dev-{number}", project_name="shop", program=program, opts=opts)
    place = root / f"project-{number}"
    place.mkdir()
    options = f"  options:\n    virtualenv: {sys.prefix}\n"
    (place / "Pulumi.yaml").write_text(f"name: shop\nruntime:\n  name: python\n{options}")
    (place / "__main__.py").write_text(MAIN)
    return auto.create_or_select_stack(f"dev-{number}", work_dir=str(place), opts=opts)


def deployed(stack: auto.Stack, number: int) -> dict[str, Any]:
    """Returns what a stack shows of its own and of others."""
    config = {"mark": auto.ConfigValue(f"m{number}x"), "size": auto.ConfigValue(str(number))}
    stack.set_all_config({**config, "secret": auto.ConfigValue(f"secret-{number}", secret=True)})
    output: list[str] = []
    events: list[auto.EngineEvent] = []
    up = stack.up(on_output=output.append, on_event=events.append)
    resources = (stack.export_stack().deployment or {})["resources"]
    logged = json.dumps(events, default=lambda found: getattr(found, "__dict__", str(found)))
    messages = [event.diagnostic_event.message.strip() for event in events if event.diagnostic_event]
    return {
        "result": up.summary.result,
        "outputs": {name: (found.value, found.secret) for name, found in up.outputs.items()},
        "marks": [marks(text) for text in ("\n".join(output), up.stdout, logged, json.dumps(resources))],
        "messages": sorted(message for message in messages if re.search(r"the (program|hook) m\d+x", message)),
        "stacks": set(re.findall(r"urn:pulumi:(dev-\d+)::", logged)),
        "sequences": [event.sequence for event in events] == list(range(len(events))),
        "things": [(found["urn"], found["inputs"]) for found in resources if found["type"] == "mem:index:Thing"],
        "config": stack.get_config("size").value,
    }


def expected(number: int) -> dict[str, Any]:
    name, mark = f"dev-{number}", f"m{number}x"
    urn = f"urn:pulumi:{name}::shop::mem:index:Thing::thing-{mark}"
    outputs = {"stack": (name, False), "mark": (mark, False), "secret": (f"secret-{number}", True), "urn": (urn, False)}
    return {
        "result": "succeeded",
        "outputs": outputs if number % EVERY else {**outputs, "variable": (mark, False)},
        "marks": [{mark}] * 4,
        "messages": [f"the hook {mark} of thing-{mark}", f"the program {mark}"],
        "stacks": {name},
        "sequences": True,
        "things": [(urn, {"mark": mark, "size": number})],
        "config": str(number),
    }


def test_a_hundred_stacks_in_threads_and_in_an_event_loop_do_not_see_each_other(
    make_engine: MakeEngine, memory: Memory, tmp_path: Path
) -> None:
    command = auto.Command(make_engine(mem=memory))
    seen: dict[int, dict[str, Any] | BaseException] = {}

    def run(number: int) -> None:
        try:
            seen[number] = deployed(opened(tmp_path, command, number), number)
        except BaseException as error:  # noqa: BLE001  # compared below
            seen[number] = error

    async def tasks() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(STACKS))
        await asyncio.wait_for(asyncio.gather(*(asyncio.to_thread(run, number) for number in range(1, STACKS, 2))), DEADLINE)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(0, STACKS, 2)]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join(DEADLINE)
    for number in range(STACKS):
        assert seen[number] == expected(number), f"dev-{number}"
