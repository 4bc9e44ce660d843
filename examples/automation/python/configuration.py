"""Configures a stack with secrets and paths, and reads the configuration in the program."""

import json

import pulumi
from pulumi import automation as auto


def shop() -> None:
    config = pulumi.Config()
    pulumi.export("team", config.require_object("tags")["team"])
    pulumi.export("database", config.require_secret("password").apply(lambda password: f"postgres://shop:{password}@db/"))
    pulumi.export("region", pulumi.Config("aws").require("region"))


stack = auto.create_or_select_stack("dev", project_name="shop", program=shop)
stack.set_config("password", auto.ConfigValue("correct horse", secret=True))
stack.set_config("tags.team", auto.ConfigValue("payments"), path=True)
stack.set_config("owners[0]", auto.ConfigValue("ada"), path=True)
stack.set_all_config({"aws:region": auto.ConfigValue("eu-west-1"), "size": auto.ConfigValue("3")})
for key, value in sorted(stack.get_all_config().items()):
    print(key, value)
assert json.loads(stack.get_config("owners").value) == ["ada"]
assert stack.get_config("password").secret and stack.get_config("password").value == "correct horse"
up = stack.up()
assert up.outputs["team"].value == "payments" and up.outputs["region"].value == "eu-west-1"
assert up.outputs["database"].secret and up.outputs["database"].value == "postgres://shop:correct horse@db/"
assert "correct horse" not in up.stdout
stack.remove_config("size")
stack.remove_all_config(["tags.team", "owners[0]"], path=True)
assert "shop:size" not in stack.get_all_config()
stack.destroy()
