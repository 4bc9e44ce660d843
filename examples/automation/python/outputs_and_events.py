"""Collects the outputs of a deployment and counts its events."""

from collections import Counter

import pulumi
from pulumi import automation as auto


def network() -> None:
    vpc = pulumi.ComponentResource("shop:index:Network", "vpc")
    for zone in ("a", "b"):
        pulumi.ComponentResource("shop:index:Subnet", f"subnet-{zone}", None, pulumi.ResourceOptions(parent=vpc))
    pulumi.export("zones", ["a", "b"])
    pulumi.export("key", pulumi.Output.secret("hush"))
    pulumi.log.warn("the network is open")


created: list[str] = []
kinds: Counter[str] = Counter()
warnings: list[str] = []


def on_event(event: auto.EngineEvent) -> None:
    kinds.update(name for name, payload in vars(event).items() if name.endswith("_event") and payload is not None)
    if event.resource_pre_event is not None and event.resource_pre_event.metadata.op == auto.OpType.CREATE:
        created.append(event.resource_pre_event.metadata.urn.rsplit("::", 1)[1])
    if event.diagnostic_event is not None and event.diagnostic_event.severity == "warning":
        warnings.append(event.diagnostic_event.message.strip())


stack = auto.create_or_select_stack("dev", project_name="shop", program=network)
result = stack.up(on_event=on_event)
print(dict(kinds))
assert sorted(created) == ["shop-dev", "subnet-a", "subnet-b", "vpc"] and warnings == ["the network is open"]
assert kinds["prelude_event"] == kinds["summary_event"] == kinds["cancel_event"] == 1
outputs = {name: output.value for name, output in stack.outputs().items()}
assert outputs == {"zones": ["a", "b"], "key": "hush"} and result.outputs["key"].secret
assert repr(result.outputs["key"]) == "[secret]"
stack.destroy()
