"""Uses the outputs of one stack in another."""

import pulumi
from pulumi import automation as auto


def network() -> None:
    pulumi.export("vpc", "vpc-1")
    pulumi.export("key", pulumi.Output.secret("hush"))


def site() -> None:
    reference = pulumi.StackReference("organization/network/dev")
    pulumi.export("vpc", reference.require_output("vpc"))
    pulumi.export("key", reference.require_output("key"))


first = auto.create_or_select_stack("dev", project_name="network", program=network)
first.up()
second = auto.create_or_select_stack("dev", project_name="site", program=site)
outputs = second.up().outputs
assert outputs["vpc"].value == "vpc-1" and not outputs["vpc"].secret
assert outputs["key"].value == "hush" and outputs["key"].secret
second.destroy()
first.destroy()
