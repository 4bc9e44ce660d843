"""The part of a context that takes functions which the engine calls: transforms and hooks."""

from __future__ import annotations

from ._checks import require_given
from ._work import Work
from .hooks import ErrorHook, Hook, register
from .transforms import InvokeTransform, Transform, of_invokes, of_resources, required

__all__ = ["CallbackContext"]


class CallbackContext(Work):
    """A context that takes transforms and hooks."""

    def transform(self, transform: Transform, /) -> None:
        """Changes each resource of the stack that is registered from now on; see :data:`~stackwright.Transform`.

        The transforms of a resource run first (``transforms`` of its options), then those of its parents from the nearest to the
        furthest, then those of the stack in the order of these calls::

            def tagged(args):
                if args.type.startswith("aws:"):
                    return sw.TransformResult(inputs={**args.inputs, "tags": {"team": "core"}})

            ctx.transform(tagged)
        """
        required("transform()", transform)
        self._require_running("a transform")
        self._run.add_transform(of_resources(self, transform))

    def transform_invokes(self, transform: InvokeTransform, /) -> None:
        """Changes each call of a function from now on, in the order of these calls; see :data:`~stackwright.InvokeTransform`.

        ::

            def pinned(args):
                return sw.InvokeTransformResult(arguments={**args.arguments, "region": "eu-1"})

            ctx.transform_invokes(pinned)
        """
        required("transform_invokes()", transform)
        self._require_running("a transform of functions")
        self._run.add_invoke_transform(of_invokes(self, transform))

    def register_hook(self, hook: Hook | ErrorHook, /) -> None:
        """Registers a hook without a resource: for what earlier runs have recorded with it, and is deleted now.

        Hooks in the options of a resource are registered with it::

            ctx.register_hook(sw.Hook("drain", drain))

        :raises StackwrightError: when another hook of the run has the name.
        """
        require_given("register_hook()", hook, (Hook, ErrorHook), "an object of the class Hook or ErrorHook")
        self._require_running(f"the hook {hook.name!r}")
        register(self, hook)
