"""Adopts a resource that exists, by a component and by its id."""

import pulumi
from pulumi import automation as auto
from pulumi.automation._stack import ImportResource

stack = auto.create_or_select_stack("dev", project_name="shop", program=lambda: None)
stack.up()
resources: list[ImportResource] = [{"type": "shop:index:Site", "name": "site", "component": True}]
imported = stack.import_resources(resources=resources, protect=False, generate_code=False, on_output=print)
assert imported.summary.result == "succeeded", imported.summary.result
records = (stack.export_stack().deployment or {})["resources"]
assert [record["urn"].rsplit("::", 1)[1] for record in records] == ["shop-dev", "site"]


def site() -> None:
    pulumi.ComponentResource("shop:index:Site", "site")


assert stack.up(program=site).summary.resource_changes == {"same": 2}
stack.destroy()
