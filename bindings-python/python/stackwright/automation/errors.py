"""The errors of ``pulumi.automation.errors``."""

from pulumi.automation.errors import *  # noqa: F403
