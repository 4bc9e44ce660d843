"""The plugin of pytest: the fixtures ``simulate`` and ``simulated_stack``, and the option ``--update-plans``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from . import SimulatedStack


__tracebackhide__ = True


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    group = parser.getgroup("stackwright")
    group.addoption("--update-plans", action="store_true", help="write the snapshots of plans that tests compare with (stackwright)")


@pytest.fixture
def simulate(request: pytest.FixtureRequest) -> Iterator[Callable[..., SimulatedStack]]:
    """``stackwright.testing.simulate``, whose stacks are closed at the end of the test."""
    from . import simulate as start

    stacks: list[SimulatedStack] = []

    def started(*arguments: Any, **settings: Any) -> SimulatedStack:
        stack = start(*arguments, **settings)
        stacks.append(stack)
        return stack

    yield started
    for stack in stacks:
        stack.close()


@pytest.fixture
def simulated_stack(simulate: Callable[..., SimulatedStack], request: pytest.FixtureRequest) -> SimulatedStack:
    """The stack of the mark ``@pytest.mark.simulated(program=program, …)``, with the arguments of ``simulate``.

    A function alone, ``simulated(program)``, is decorated by a mark of pytest instead; the mark's ``with_args(program)`` takes it, too.
    """
    mark = request.node.get_closest_marker("simulated")
    if mark is None:
        raise pytest.UsageError("the fixture simulated_stack needs a mark: @pytest.mark.simulated(program=program)")
    return simulate(*mark.args, **mark.kwargs)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark, and makes assertions write snapshots where the option is given: those of every test, with the fixture or not."""
    config.addinivalue_line("markers", "simulated(program=..., **settings): the program of the fixture simulated_stack")
    if config.getoption("--update-plans"):
        _update_snapshots(True)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuses the mark on a test that does not use its stack."""
    if item.get_closest_marker("simulated") is not None and "simulated_stack" not in getattr(item, "fixturenames", ()):
        raise pytest.UsageError("the mark simulated has no effect without the fixture simulated_stack, as an argument of the test")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the effect of the option."""
    if config.getoption("--update-plans"):
        _update_snapshots(False)


def _update_snapshots(update: bool) -> None:
    # Imported only where it is needed: every run of pytest loads this plugin.
    from ._result import update_snapshots

    update_snapshots(update)
