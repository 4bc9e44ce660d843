"""Deploys resources of packages from the registry."""

import pulumi
import pulumi_command
import pulumi_random
from pulumi import automation as auto


def shop() -> None:
    pet = pulumi_random.RandomPet("pet", length=2)
    password = pulumi_random.RandomPassword("password", length=16, special=True)
    greeting = pulumi_command.local.Command("greeting", create=pet.id.apply(lambda name: f"echo {name}"))
    pulumi.export("pet", pet.id)
    pulumi.export("password", password.result)
    pulumi.export("greeting", greeting.stdout)


stack = auto.create_or_select_stack("dev", project_name="shop", program=shop)
assert stack.preview().change_summary == {"create": 4}
up = stack.up(on_output=print)
assert up.outputs["password"].secret and up.outputs["password"].value
assert up.outputs["pet"].value and up.outputs["greeting"].value
assert stack.up().summary.resource_changes == {"same": 4}
stack.destroy()
