"""The export of spans: a collector decodes them with the messages of OpenTelemetry's own package."""

from __future__ import annotations

import asyncio
import http.server
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from conftest import Memory, Vault

THING = "mem:index:Thing"
TIMEOUT = 60.0
SECRET = "correct horse"

trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
sdk = pytest.importorskip("opentelemetry.sdk.trace")
from opentelemetry import trace  # noqa: E402


class Collector:
    """A collector: it keeps the spans and the bodies that it gets."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.spans: queue.Queue[Any] = queue.Queue()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.bodies.append(body)
                request = trace_service.ExportTraceServiceRequest.FromString(body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()
                for of_resource in request.resource_spans:
                    for of_library in of_resource.scope_spans:
                        for span in of_library.spans:
                            collector.spans.put(span)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def until_operation(self) -> dict[str, Any]:
        """Returns the spans up to that of an operation, by their names."""
        found: dict[str, Any] = {}
        while not any(name.startswith("operation") for name in found):
            span = self.spans.get(timeout=TIMEOUT)
            found[span.name] = span
        return found

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def program(ctx: sw.Context) -> None:
    ctx.resource(THING, SECRET, {"password": sw.secret(SECRET)})


def check_within(spans: dict[str, Any], caller: Any) -> None:
    operation, step, call = spans["operation update"], spans["step create"], spans["provider_call create"]
    assert operation.trace_id == caller.trace_id.to_bytes(16, "big")
    assert operation.parent_span_id == caller.span_id.to_bytes(8, "big")
    assert step.parent_span_id == operation.span_id
    assert call.parent_span_id == step.span_id
    attributes = {attribute.key: attribute.value.string_value for attribute in step.attributes}
    assert attributes["op"] == "create" and attributes["urn"].endswith("mem:index:Thing::[secret]")


def test_an_operation_is_within_the_span_of_its_caller(collector: Collector, tmp_path: Path) -> None:
    tracer = sdk.TracerProvider().get_tracer("test")

    async def run() -> Any:
        telemetry = sw.Telemetry(endpoint=collector.url, service_name="deployer")
        async with sw.Engine(
            store=f"file://{tmp_path}", secrets=Vault(), providers={"mem": Memory()}, telemetry=telemetry
        ) as engine:
            stack = await engine.stack("shop/dev", program)
            with tracer.start_as_current_span("deploy") as span:
                await stack.up()
            return span.get_span_context()

    caller = asyncio.run(run())
    check_within(collector.until_operation(), caller)
    assert not any(SECRET.encode() in body for body in collector.bodies)


def test_without_async_an_operation_is_within_the_span_of_the_calling_thread(collector: Collector, tmp_path: Path) -> None:
    tracer = sdk.TracerProvider().get_tracer("test")
    telemetry = sw.Telemetry(endpoint=collector.url)
    with sync.Engine(
        store=f"file://{tmp_path}", secrets=Vault(), providers={"mem": Memory()}, telemetry=telemetry
    ) as engine:
        stack = engine.stack("shop/dev", program)
        with tracer.start_as_current_span("deploy") as span:
            stack.up()
    check_within(collector.until_operation(), span.get_span_context())


def test_an_operation_without_a_caller_begins_a_trace_and_an_explicit_caller_comes_first(
    collector: Collector, tmp_path: Path
) -> None:
    telemetry = sw.Telemetry(endpoint=collector.url)
    with sync.Engine(
        store=f"file://{tmp_path}", secrets=Vault(), providers={"mem": Memory()}, telemetry=telemetry
    ) as engine:
        stack = engine.stack("shop/dev", program)
        stack.preview()
        assert collector.until_operation()["operation update"].parent_span_id == b""
        with trace.use_span(trace.NonRecordingSpan(trace.SpanContext(1, 2, False, trace.TraceFlags(1)))):
            stack.preview(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        assert collector.until_operation()["operation update"].parent_span_id.hex() == "b7ad6b7169203331"
        with pytest.raises(sw.InvalidInputError, match="traceparent takes"):
            stack.preview(traceparent="no header")


def test_settings_of_telemetry_are_read_from_the_environment_only_when_asked(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    with sync.Engine(store=f"file://{tmp_path / 'a'}", secrets=Vault(), providers={"mem": Memory()}) as engine:
        engine.stack("shop/dev", program).preview()
    assert not collector.bodies
    telemetry = sw.Telemetry(from_environment=True)
    with sync.Engine(
        store=f"file://{tmp_path / 'b'}", secrets=Vault(), providers={"mem": Memory()}, telemetry=telemetry
    ) as engine:
        engine.stack("shop/dev", program).preview()
    assert collector.bodies
    assert "4711" not in repr(sw.Telemetry(endpoint="http://localhost:4318", headers={"authorization": "Bearer 4711"}))
    for endpoint, shown in [
        ("http://localhost:4318", "http://localhost:4318"),
        ("http://user:4711@host:4318/v1/traces", "http://[secret]@host:4318/v1/traces"),
        ("https://user:4711/?@@host?key=4711#x", "https://[secret]@host?[secret]"),
        ("user:4711@host", "[secret]@host"),
        (None, None),
    ]:
        assert f"endpoint={shown!r}," in repr(sw.Telemetry(endpoint=endpoint))
    shown = repr(sw.Telemetry(attributes={"region": "4711"}, from_environment=True, headers={"authorization": "Bearer 4711"}))
    headers = {"authorization": "[secret]"}
    assert shown == f"Telemetry(attributes=['region'], endpoint=None, from_environment=True, headers={headers!r}, service_name=None)"
    with pytest.raises(sw.InvalidInputError, match="needs the endpoint"):
        sync.Engine(store=f"file://{tmp_path / 'c'}", secrets=Vault(), telemetry=sw.Telemetry())
