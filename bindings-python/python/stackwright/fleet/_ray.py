"""Ray as an executor."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any

__all__ = ["ray_executor"]


class _RayExecutor(concurrent.futures.Executor):
    def __init__(self, options: dict[str, Any]) -> None:
        import ray

        # A call that is lost is submitted again here, where its losses are counted.
        self._remote = ray.remote(max_retries=0, **options)(_call)
        self._ray = ray

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> concurrent.futures.Future[Any]:
        reference = self._remote.remote(function, arguments, named)
        future = _RayFuture(lambda: self._ray.cancel(reference))
        future.follow(reference.future())
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does nothing: the cluster is the caller's."""


class _RayFuture(concurrent.futures.Future[Any]):
    """The future of a task. To cancel it is a request: Ray ends a task that waits for a place, and one that has begun may go on."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        self._cancel = cancel

    def follow(self, other: concurrent.futures.Future[Any]) -> None:
        other.add_done_callback(self._settle)

    def cancel(self) -> bool:
        if not self.done():
            self._cancel()
        return False

    def _settle(self, other: concurrent.futures.Future[Any]) -> None:
        if not self.set_running_or_notify_cancel():
            return
        try:
            self.set_result(other.result())
        except BaseException as error:
            self.set_exception(error)


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(*arguments, **named)


def ray_executor(**options: Any) -> concurrent.futures.Executor:
    """Returns an executor that runs calls as tasks of Ray, which the caller has connected to with ``ray.init()``.

    :param options: Those of ``ray.remote`` for each task: ``num_cpus`` (1 when left out), ``resources``, ``runtime_env``…
    """
    return _RayExecutor({"num_cpus": 1, **options})
