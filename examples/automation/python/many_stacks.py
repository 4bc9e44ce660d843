"""Deploys stacks at the same time, in threads and in tasks."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pulumi
from pulumi import automation as auto


def tenant(number: int) -> auto.PulumiFn:
    def program() -> None:
        pulumi.ComponentResource("shop:index:Tenant", f"tenant-{number}")
        pulumi.export("stack", pulumi.get_stack())

    return program


def deploy(number: int) -> str:
    stack = auto.create_or_select_stack(f"tenant-{number}", project_name="shop", program=tenant(number))
    up = stack.up()
    urns = [record["urn"] for record in (stack.export_stack().deployment or {})["resources"]]
    assert [urn for urn in urns if urn.endswith(f"::tenant-{number}")] and len(urns) == 2, urns
    stack.destroy()
    return str(up.outputs["stack"].value)


with ThreadPoolExecutor(8) as pool:
    names = list(pool.map(deploy, range(8)))
assert names == [f"tenant-{number}" for number in range(8)]


async def main() -> list[str]:
    return await asyncio.gather(*(asyncio.to_thread(deploy, number) for number in range(8, 16)))


assert asyncio.run(main()) == [f"tenant-{number}" for number in range(8, 16)]
print("16 stacks")
