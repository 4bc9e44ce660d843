"""Credentials of remote stores: as data, from callbacks and from objects of other libraries; with S3 by moto where it is installed."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stackwright as sw

from conftest import ROOT, Memory, Vault, on_loop

SECRET = "wJalrXUtnFEMIsecret"
KEYS: sw.StoreCredentials = {"access_key_id": "AKIATEST", "secret_access_key": SECRET}
START_SECONDS = 120

UNREACHABLE = "s3://state/none?endpoint=http://127.0.0.1:9&region=eu-west-1"
"""A store that is opened and never used: nothing listens at the port of the discard service."""


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """Starts S3 by moto, and returns the URL of its bucket without a prefix."""
    python = os.environ.get("STACKWRIGHT_TEST_MOTO")
    if not python:
        required = "S3" in os.environ.get("STACKWRIGHT_TEST_STORES_REQUIRED", "").split(",")
        text = "STACKWRIGHT_TEST_MOTO names no Python that has moto"
        if required:
            pytest.fail(text)
        pytest.skip(text)
    # Not by its path: the folder of the script would be searched for the package of the same name.
    script = (ROOT / "testkit" / "src" / "server" / "moto.py").read_text()
    # The packages of this interpreter are not those of the other one.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen([python, "-c", script], env=environment, stdout=subprocess.PIPE, text=True) as process:
        deadline = threading.Timer(START_SECONDS, process.kill)
        deadline.start()
        assert process.stdout is not None
        line = process.stdout.readline()
        deadline.cancel()
        try:
            assert line.startswith("port "), line
            yield f"s3://state/{{}}?endpoint=127.0.0.1:{line.split()[1]}&disableSSL=true&region=eu-west-1"
        finally:
            process.kill()


def program(ctx: sw.Context) -> None:
    ctx.resource("mem:index:Thing", "a", {})


async def lifecycle(store: str, credentials: Any) -> None:
    async with sw.Engine(store=store, credentials=credentials, secrets=Vault(), providers={"mem": Memory()}) as engine:
        assert SECRET not in repr(engine)
        stack = await engine.stack("shop/dev", program)
        assert (await stack.up()).changes == {"create": 2}
        assert set((await stack.up()).changes) == {"same"}
        await stack.destroy()


class Session:
    """A session of boto3, as far as it has credentials."""

    def __init__(self) -> None:
        self.asked = 0

    def get_credentials(self) -> Any:
        self.asked += 1
        keys = SimpleNamespace(access_key=KEYS["access_key_id"], secret_key=SECRET, token=None)
        return SimpleNamespace(get_frozen_credentials=lambda: keys)


@on_loop
async def test_a_bucket_takes_keys_from_a_mapping_a_function_and_a_session(bucket: str) -> None:
    calls: list[str] = []

    def blocking() -> sw.StoreCredentials:
        calls.append("blocking")
        return {**KEYS, "session_token": "token", "expires": datetime.now(timezone.utc) + timedelta(hours=1)}

    async def asynchronous() -> sw.StoreCredentials:
        calls.append("asynchronous")
        return {**KEYS, "expires": (datetime.now(timezone.utc) + timedelta(hours=1)).isoformat()}

    session = Session()
    for number, credentials in enumerate((KEYS, blocking, asynchronous, session)):
        await lifecycle(bucket.format(f"python{number}"), credentials)
    # What has not ended is used for all requests.
    assert calls == ["blocking", "asynchronous"] and session.asked == 1


@on_loop
async def test_credentials_that_end_are_requested_again_before_they_do(bucket: str) -> None:
    calls = 0

    def ending() -> sw.StoreCredentials:
        nonlocal calls
        calls += 1
        # Within the minute before the end another is requested for each use.
        return {**KEYS, "expires": datetime.now(timezone.utc) + timedelta(seconds=59)}

    await lifecycle(bucket.format("ending"), ending)
    assert calls > 1


@on_loop
async def test_a_boto3_session_serves_as_credentials(bucket: str) -> None:
    boto3 = importlib.import_module("boto3")
    session = boto3.Session(aws_access_key_id=KEYS["access_key_id"], aws_secret_access_key=SECRET)
    await lifecycle(bucket.format("boto3"), session)


async def failure(credentials: Any, store: str = UNREACHABLE) -> sw.StackwrightError:
    engine = sw.Engine(store=store, credentials=credentials, secrets=Vault(), providers={"mem": Memory()})
    try:
        with pytest.raises(sw.StackwrightError) as caught:
            await engine.stacks()
    finally:
        await engine.close()
    return caught.value


@on_loop
async def test_what_a_callback_raises_or_returns_wrongly_fails_the_request_and_names_the_callback() -> None:
    def refusing() -> sw.StoreCredentials:
        raise PermissionError("the login has ended")

    error = await failure(refusing)
    assert "the credential callback failed: the login has ended" in str(error)
    assert isinstance(error.__cause__, PermissionError)

    error = await failure(lambda: [SECRET])
    assert isinstance(error, sw.InvalidInputError)
    assert "the credential callback failed: it returned list, not a mapping" in str(error) and SECRET not in str(error)

    error = await failure(lambda: {"acess_key_id": SECRET})
    assert "'acess_key_id' of the answer of the credential callback" in str(error) and "access_key_id" in str(error)
    assert SECRET not in str(error)

    error = await failure(lambda: {**KEYS, "expires": datetime(2026, 1, 1)})
    assert "expires of credentials has no time zone" in str(error)

    error = await failure(lambda: {"token": SECRET})
    assert "the scheme s3 takes" in str(error) and "a bearer token" in str(error) and SECRET not in str(error)


@pytest.mark.parametrize(
    ("credentials", "store", "part"),
    [
        (None, UNREACHABLE, "needs credentials"),
        ({"token": SECRET, "password": SECRET}, UNREACHABLE, "token and password"),
        ({"secret_access_key": SECRET}, UNREACHABLE, "access_key_id and secret_access_key"),
        ({"acces_key_id": SECRET}, UNREACHABLE, "acces_key_id"),
        ({**KEYS, "expires": datetime(2026, 1, 1, tzinfo=timezone.utc)}, UNREACHABLE, "of a callback"),
        ({**KEYS, "from_environment": True}, UNREACHABLE, "from_environment and others"),
        ({"service_account": {"type": "external_account", "x": SECRET}}, "gs://state", "external_account"),
        (SECRET, UNREACHABLE, "credentials takes a mapping, a function without arguments"),
        (lambda key: {}, UNREACHABLE, "credentials takes a function that is called without arguments"),
    ],
)
def test_credentials_that_cannot_be_used_are_refused_without_showing_them(credentials: Any, store: str, part: str) -> None:
    with pytest.raises(sw.InvalidInputError) as caught:
        sw.Engine(store=store, credentials=credentials)
    shown = f"{caught.value!r} {caught.value} {caught.value.hints}"
    assert part in shown and SECRET not in shown


def test_unsupported_sources_name_the_callback() -> None:
    with pytest.raises(sw.InvalidInputError) as caught:
        sw.Engine(store="gs://state", credentials={"service_account": {"type": "external_account"}})
    assert "callback" in " ".join(caught.value.hints)


def test_a_store_of_the_host_takes_no_credentials() -> None:
    from host_stores import DictStore

    with pytest.raises(sw.InvalidInputError, match="takes no credentials"):
        sw.Engine(store=DictStore(), credentials=KEYS)


@on_loop
async def test_single_sign_on_of_the_environment_names_the_callback(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile work]\nsso_session = corp\nsso_account_id = 1\n")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "AWS_PROFILE": "work", "AWS_CONFIG_FILE": str(tmp_path / "config")}
    script = (
        "import stackwright as sw\n"
        "try:\n"
        f"    sw.Engine(store={UNREACHABLE!r}, credentials={{'from_environment': True}})\n"
        "except sw.InvalidInputError as error:\n"
        "    print(error, error.hints)\n"
    )
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script], env={**environment, **paths}, capture_output=True, text=True, timeout=60, check=True
    )
    assert "credential callback" in process.stdout, process.stdout + process.stderr


class GoogleCredentials:
    """Credentials of google.auth: they are valid once they were refreshed."""

    valid = False
    token: str | None = None
    expiry: datetime | None = None

    def refresh(self, request: object) -> None:
        self.valid, self.token, self.expiry = True, SECRET, datetime(2099, 1, 1)


@on_loop
async def test_credentials_of_other_libraries_become_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    from stackwright.credentials import describe_credentials

    class Azure:
        def get_token(self, *scopes: str) -> Any:
            assert scopes == ("https://storage.azure.com/.default",)
            return SimpleNamespace(token=SECRET, expires_on=4070908800)

    class AsyncAzure:
        async def get_token(self, *scopes: str) -> Any:
            return Azure().get_token(*scopes)

    expected = '{"token": "wJalrXUtnFEMIsecret", "expires": "2099-01-01T00:00:00+00:00"}'
    _, described = describe_credentials(Azure())
    assert described is not None and not described[1] and described[0](None) == expected
    # Only these names of the library are used.
    scoping = SimpleNamespace(with_scopes_if_required=lambda credentials, scopes: credentials)
    monkeypatch.setitem(sys.modules, "google.auth.credentials", scoping)
    monkeypatch.setitem(sys.modules, "google.auth.transport.requests", SimpleNamespace(Request=object))
    _, described = describe_credentials(GoogleCredentials())
    assert described is not None and described[0](None) == expected == described[0](None)
    _, described = describe_credentials(AsyncAzure())
    assert described is not None and described[1] and await described[0](None) == expected
