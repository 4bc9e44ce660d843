"""The events of ``pulumi.automation.events``."""

from pulumi.automation.events import *  # noqa: F403
