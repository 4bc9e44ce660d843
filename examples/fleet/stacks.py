"""What the workers of the examples import: programs, and the setup that supplies what specifications must not hold."""

from __future__ import annotations

import os
import uuid

import stackwright as sw
from stackwright import fleet


class Buckets:
    """Provides buckets that are nothing but their names."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(f"bucket-{uuid.uuid4().hex[:8]}", request.inputs)

    def delete(self, request: sw.DeleteRequest) -> None:
        pass


def setup(spec: fleet.StackSpec) -> fleet.WorkerSetup:
    """Runs in each worker: the passphrase and the secret configuration come from its environment, or from a vault."""
    return fleet.WorkerSetup(
        engine={"passphrase": os.environ["FLEET_PASSPHRASE"], "providers": {"demo": Buckets()}},
        config={"token": sw.secret(os.environ["FLEET_TOKEN"])},
    )


async def network(ctx: sw.Context) -> None:
    """The stack that all others read."""
    ctx.resource("demo:index:Bucket", "logs", {"token": ctx.config.secret("token")})
    ctx.export("range", "10.0.0.0/16")


async def shop(ctx: sw.Context) -> None:
    """One of many stacks."""
    network = ctx.read("pulumi:pulumi:StackReference", "network", "network/prod", {"name": "network/prod"})
    ctx.resource("demo:index:Bucket", "wares", {"range": network["outputs"]["range"], "region": ctx.config["region"]})
    ctx.export("range", network["outputs"]["range"])


def specifications(store: str, count: int) -> list[fleet.StackSpec]:
    """Describes the network and ``count`` shops, without a secret."""
    net = fleet.StackSpec("network/prod", network, store=store, setup=setup)
    return [
        net,
        *(
            fleet.StackSpec(f"shop/s{number}", shop, store=store, setup=setup, config={"region": f"r{number % 3}"}, depends_on=[net])
            for number in range(count)
        ),
    ]
