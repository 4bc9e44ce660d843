"""A module of a program whose import fails with a text that has a secret."""

from fleet_support import SECRET

raise ImportError(f"the token {SECRET} was refused")
