"""What an engine has counted, as Python sees it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

from conftest import MakeEngine, Memory, Vault

THING = "mem:index:Thing"


def program(ctx: sw.Context) -> None:
    ctx.resource(THING, "a", {"value": sw.secret("correct horse")})


def test_metrics_count_operations_calls_and_what_is_written(make_engine: MakeEngine) -> None:
    async def run() -> sw.Metrics:
        engine = make_engine(mem=Memory())
        assert engine.metrics().operations == ()
        stack = await engine.stack("shop/dev", program)
        await stack.preview()
        await stack.up()
        return engine.metrics()

    metrics = asyncio.run(run())
    counts = [(counts.verb, counts.is_preview, counts.running, counts.succeeded) for counts in metrics.operations]
    assert counts == [("update", False, 0, 1), ("update", True, 0, 1)]
    calls = metrics.provider_calls["mem"]
    assert calls.total >= 3 and (calls.in_flight, calls.failed) == (0, 0)
    assert metrics.journal.entries >= 2 and metrics.journal.bytes > 100
    assert metrics.store.calls["append"] >= 1
    assert (metrics.locks.taken, metrics.locks.waiting, metrics.plugins_started, metrics.plugins) == (1, 0, 0, ())
    assert "correct horse" not in repr(metrics)
    with pytest.raises(AttributeError):
        metrics.plugins_started = 1  # type: ignore[misc]


def test_metrics_of_an_engine_without_async_are_the_same(tmp_path: Path) -> None:
    with sync.Engine(store=f"file://{tmp_path}", secrets=Vault(), providers={"mem": Memory()}) as engine:
        engine.stack("shop/dev", program).up()
        metrics = engine.metrics()
    assert metrics.operations[0] == sw.OperationMetrics(
        verb="update", is_preview=False, running=0, succeeded=1, failed=0, canceled=0
    )
