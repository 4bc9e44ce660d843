"""Programs of the Pulumi SDK in this process: no socket, no environment variable, no process; any number at once."""

from .run import start

__all__ = ["start"]
