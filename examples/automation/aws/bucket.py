"""Keeps a bucket on AWS, from its creation to its removal.

``python bucket.py`` needs ``pulumi_aws``, its plugin (``pulumi-resource-aws`` on the search path, or in ``plugins`` of ``PULUMI_HOME``), and
what every tool for AWS needs: credentials and a region in the environment, ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY`` and ``AWS_REGION``
for instance. ``PULUMI_BACKEND_URL`` names the store of states, and ``PULUMI_CONFIG_PASSPHRASE`` encrypts their secrets.

``python bucket.py --scripted`` needs none of them but ``pulumi_aws``: the provider is an object of this process, which creates nothing.
"""

import sys

import pulumi
import pulumi_aws as aws
import stackwright as sw
from stackwright import automation as auto


class Scripted(sw.Provider):
    """Answers as the provider does, and creates nothing."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        name = f"{request.name}-0123abc"
        return sw.CreateResult(name, {**request.inputs, "bucket": name, "arn": f"arn:aws:s3:::{name}"})

    def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        return sw.UpdateResult({**request.old_outputs, **request.inputs})

    def delete(self, request: sw.DeleteRequest) -> None:
        print("deleted", request.id)


def files() -> None:
    owner = pulumi.Config().require("owner")
    bucket = aws.s3.Bucket("files", force_destroy=True, tags={"owner": owner})
    pulumi.export("bucket", bucket.bucket)
    pulumi.export("arn", bucket.arn)


options = auto.LocalWorkspaceOptions()
if "--scripted" in sys.argv:
    engine = sw.Engine(store="memory://", passphrase="correct horse", providers={"aws": Scripted()})
    options = auto.LocalWorkspaceOptions(pulumi_command=auto.Command(engine))

stack = auto.create_or_select_stack("dev", project_name="files", program=files, opts=options)
stack.set_config("owner", auto.ConfigValue("net"))
assert stack.preview(on_output=print).change_summary == {"create": 2}
up = stack.up(on_output=print)
assert up.outputs["arn"].value == f"arn:aws:s3:::{up.outputs['bucket'].value}", up.outputs
assert stack.up().summary.resource_changes == {"same": 2}
stack.set_config("owner", auto.ConfigValue("shop"))
assert (stack.up(on_output=print).summary.resource_changes or {}).get("update") == 1
stack.destroy(on_output=print)
stack.workspace.remove_stack("dev")
