"""The part of azure.identity that pages use, without a server."""

from __future__ import annotations

import time
from types import SimpleNamespace


class DefaultAzureCredential:
    def get_token(self, scope: str) -> SimpleNamespace:
        return SimpleNamespace(token=scope, expires_on=time.time() + 3600)
