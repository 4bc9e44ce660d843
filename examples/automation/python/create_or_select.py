"""Deploys a site, and deploys it again with another setting: the stack is created once."""

import pulumi
from pulumi import automation as auto


def site() -> None:
    config = pulumi.Config()
    pulumi.ComponentResource("shop:index:Site", "site")
    pulumi.export("url", f"https://{config.get('host') or 'example.com'}/")


def deploy(host: str) -> auto.UpResult:
    stack = auto.create_or_select_stack("dev", project_name="shop", program=site)
    stack.set_config("host", auto.ConfigValue(host))
    return stack.up(on_output=print)


first = deploy("one.example.com")
assert first.outputs["url"].value == "https://one.example.com/"
assert first.summary.resource_changes == {"create": 2}
second = deploy("two.example.com")
assert second.outputs["url"].value == "https://two.example.com/"
assert second.summary.resource_changes == {"same": 2}
try:
    auto.create_stack("dev", project_name="shop", program=site, opts=auto.LocalWorkspaceOptions())
except auto.StackAlreadyExistsError:
    print("the stack is there")
else:
    raise AssertionError("a stack is created once")
stack = auto.select_stack("dev", project_name="shop", program=site)
stack.destroy(on_output=print)
stack.workspace.remove_stack("dev")
