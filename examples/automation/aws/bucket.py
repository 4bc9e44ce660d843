"""Keeps a bucket on AWS, from its creation to its removal.

It needs ``pulumi_aws``, its plugin (``pulumi-resource-aws`` on the search path, or in ``plugins`` of ``PULUMI_HOME``), and what every tool for
AWS needs: credentials and a region in the environment, ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY`` and ``AWS_REGION`` for instance.
"""

import pulumi
import pulumi_aws as aws
from pulumi import automation as auto


def files() -> None:
    owner = pulumi.Config().require("owner")
    bucket = aws.s3.Bucket("files", force_destroy=True, tags={"owner": owner})
    guarded = aws.s3.BucketPublicAccessBlock("guarded", bucket=bucket.id, block_public_acls=True, block_public_policy=True)
    readme = aws.s3.BucketObjectv2(
        "readme",
        bucket=bucket.id,
        key="README.md",
        content=pulumi.Output.concat("The files of ", owner, "."),
        opts=pulumi.ResourceOptions(depends_on=[guarded]),
    )
    pulumi.export("bucket", bucket.bucket)
    pulumi.export("arn", bucket.arn)
    pulumi.export("readme", readme.key)


stack = auto.create_or_select_stack("dev", project_name="files", program=files)
stack.set_config("owner", auto.ConfigValue("net"))
# Three resources and the stack; default providers are not counted.
assert stack.preview(on_output=print).change_summary == {"create": 4}
up = stack.up(on_output=print)
assert up.outputs["arn"].value == f"arn:aws:s3:::{up.outputs['bucket'].value}", up.outputs
assert up.outputs["readme"].value == "README.md"
assert stack.up().summary.resource_changes == {"same": 4}
stack.set_config("owner", auto.ConfigValue("shop"))
assert (stack.up(on_output=print).summary.resource_changes or {}).get("update") == 2
stack.refresh(on_output=print)
stack.destroy(on_output=print)
stack.workspace.remove_stack("dev")
