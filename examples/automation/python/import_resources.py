"""Adopts resources that exist: a component, and a resource of a package by its id."""

from importlib.metadata import version

import pulumi
import pulumi_random
from pulumi import automation as auto
from pulumi.automation._stack import ImportResource

stack = auto.create_or_select_stack("dev", project_name="shop", program=lambda: None)
stack.up()
TOKEN = "random:index/randomString:RandomString"
resources: list[ImportResource] = [
    {"type": "shop:index:Site", "name": "site", "component": True},
    {"type": TOKEN, "name": "token", "id": "tulip", "version": version("pulumi_random")},
]
imported = stack.import_resources(resources=resources, protect=False, generate_code=False, on_output=print)
assert imported.summary.result == "succeeded", imported.summary.result
assert imported.summary.resource_changes == {"import": 2, "same": 1}, imported.summary.resource_changes
records = {record["urn"].rsplit("::", 1)[1]: record for record in (stack.export_stack().deployment or {})["resources"]}
assert {"shop-dev", "site", "token"} <= records.keys(), records.keys()
assert (records["token"]["id"], records["token"]["inputs"]) == ("tulip", {"length": 5})


def site() -> None:
    pulumi.ComponentResource("shop:index:Site", "site")
    token = pulumi_random.RandomString("token", length=5)
    pulumi.export("token", token.result)


up = stack.up(program=site)
assert up.summary.resource_changes == {"same": 3}, up.summary.resource_changes
assert up.outputs["token"].value == "tulip"
stack.destroy()
