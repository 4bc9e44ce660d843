"""The caller's span of ``opentelemetry``, where the program uses that package."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["caller"]


def caller() -> dict[str, str]:
    """Returns the option with the current span of this task or thread; none where there is no span.

    The package is not imported for it: without its import, no span is current.
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    try:
        context = trace.get_current_span().get_span_context()
        if not context.is_valid:
            return {}
        return {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"}
    except Exception:  # noqa: BLE001
        # A tracer of the host that fails does not fail its operations.
        return {}
