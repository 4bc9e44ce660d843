"""Moves the state of a stack to another store."""

import json
import tempfile

import pulumi
from pulumi import automation as auto


def shop() -> None:
    pulumi.ComponentResource("shop:index:Site", "site")
    pulumi.export("password", pulumi.Output.secret("hush"))


source = auto.create_or_select_stack("dev", project_name="shop", program=shop)
source.up()
exported = source.export_stack()
assert exported.version == 3 and exported.deployment is not None
document = json.dumps(exported.deployment)
folder = tempfile.TemporaryDirectory()
opts = auto.LocalWorkspaceOptions(env_vars={"PULUMI_BACKEND_URL": f"file://{folder.name}"})
target = auto.create_stack("dev", project_name="shop", program=shop, opts=opts)
target.import_stack(auto.Deployment(version=3, deployment=json.loads(document)))
assert target.outputs()["password"].value == "hush" and target.outputs()["password"].secret
assert target.up().summary.resource_changes == {"same": 2}
target.destroy()
assert source.outputs()["password"].value == "hush"
source.destroy()
folder.cleanup()
