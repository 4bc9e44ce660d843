"""Programs of the Pulumi SDK in this process: no socket, no environment variable, no process; any number at once."""

from .body import Code
from .body import start as start_code
from .run import Failure, start

__all__ = ["Code", "Failure", "start", "start_code"]
