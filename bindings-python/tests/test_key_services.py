"""Key services: data keys that the host's clients wrap, with KMS of moto where it is installed, and with fake clients."""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stackwright as sw
from stackwright import secrets, sync

URL = "awskms://alias/shop"


def masked(key: bytes) -> bytes:
    return bytes(byte ^ 90 for byte in key)


class Keys:
    """A key service of the host, which notes its calls."""

    def __init__(self, url: str = URL) -> None:
        self.url = url
        self.calls: list[str] = []
        self.error: Exception | None = None

    def wrap_key(self, url: str, key: bytes, /) -> Any:
        self.calls.append(f"wrap {url}")
        return self._answer(key)

    def unwrap_key(self, url: str, wrapped: bytes, /) -> Any:
        self.calls.append(f"unwrap {url}")
        return self._answer(wrapped)

    def _answer(self, key: bytes) -> bytes:
        if self.error is not None:
            raise self.error
        return masked(key)


class AsyncKeys(Keys):
    async def wrap_key(self, url: str, key: bytes, /) -> bytes:
        await asyncio.sleep(0)
        return super().wrap_key(url, key)  # type: ignore[no-any-return]

    async def unwrap_key(self, url: str, wrapped: bytes, /) -> bytes:
        await asyncio.sleep(0)
        return super().unwrap_key(url, wrapped)  # type: ignore[no-any-return]


def secretive(ctx: sw.Context) -> None:
    ctx.export("password", sw.secret("hunter2"))
    token = ctx.config.get("token")
    ctx.export("token", "" if token is None else token)


def manager(stack: sync.Stack) -> Any:
    return stack.export_deployment()["deployment"]["secrets_providers"]


def project(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    return folder


def from_settings_to_a_passphrase_and_back(tmp_path: Path, keys: Any) -> None:
    """Takes a stack through settings, an update, another engine, a passphrase, and back."""
    folder = project(tmp_path)
    store = f"file://{tmp_path / 'state'}"
    file = folder / "Pulumi.dev.yaml"
    with sync.Engine(store=store, secrets=keys) as engine:
        stack = engine.create_stack("dev", secretive, project=folder)
        lines = dict(line.split(": ", 1) for line in file.read_text().splitlines())
        assert lines["secretsprovider"] == keys.url
        engine.project(folder).set_config("dev", "token", sw.secret("t0ken"))
        assert "t0ken" not in file.read_text()
        stack.up()
        recorded = manager(stack)
        assert recorded == {"type": "cloud", "state": {"url": keys.url, "encryptedkey": lines["encryptedkey"]}}
    with sync.Engine(store=store, secrets=keys, passphrase="correct horse") as engine:
        stack = engine.select_stack("dev", secretive, project=folder)
        outputs = sw.unwrap(stack.outputs(show_secrets=True))
        assert outputs == {"password": "hunter2", "token": "t0ken"}
        stack.change_secrets(passphrase="correct horse")
        assert "encryptionsalt" in file.read_text() and "encryptedkey" not in file.read_text()
        stack = engine.select_stack("dev", secretive, project=folder)
        assert manager(stack)["type"] == "passphrase"
        stack.up()
        assert stack.change_secrets(secrets=keys, dry_run=True).settings == "encrypted"
        stack.change_secrets(secrets=keys)
    with sync.Engine(store=store, secrets=keys) as engine:
        stack = engine.select_stack("dev", secretive, project=folder)
        assert manager(stack)["type"] == "cloud" and manager(stack) != recorded
        stack.up()
        assert sw.unwrap(stack.outputs(show_secrets=True)) == outputs


@pytest.mark.parametrize("keys", [Keys(), AsyncKeys()], ids=["blocking", "async"])
def test_a_stack_goes_from_settings_to_a_passphrase_and_back(tmp_path: Path, keys: Keys) -> None:
    from_settings_to_a_passphrase_and_back(tmp_path, keys)
    assert {call.split()[1] for call in keys.calls} == {URL}


def test_a_data_key_is_unwrapped_once_for_each_engine(tmp_path: Path) -> None:
    keys = Keys()
    store = f"file://{tmp_path}"
    with sync.Engine(store=store, secrets=keys) as engine:
        engine.stack("shop/dev", secretive).up()
        engine.stack("shop/dev", secretive).up()
    assert keys.calls == [f"wrap {URL}", f"unwrap {URL}"]
    with sync.Engine(store=store, secrets=keys) as engine:
        for _ in range(3):
            assert engine.stack("shop/dev").outputs()["password"].value == "hunter2"
    assert keys.calls[2:] == [f"unwrap {URL}"]


def test_a_key_service_of_one_stack_is_that_of_its_settings(tmp_path: Path) -> None:
    with sync.Engine(store=f"file://{tmp_path}", passphrase="p") as engine:
        engine.stack("shop/plain", secretive).up()
        stack = engine.stack("shop/keys", secretive, secrets=Keys())
        stack.up()
        assert manager(stack)["type"] == "cloud"
        assert manager(engine.stack("shop/plain"))["type"] == "passphrase"


def test_the_error_of_a_key_service_names_its_url_and_its_cause(tmp_path: Path) -> None:
    keys = Keys()
    store = f"file://{tmp_path}"
    with sync.Engine(store=store, secrets=keys) as engine:
        keys.error = PermissionError("AccessDenied")
        with pytest.raises(sw.SecretsError, match=f"{URL}: the data key was not wrapped: .*AccessDenied") as wrapping:
            engine.stack("shop/dev", secretive).up()
        assert isinstance(wrapping.value.__cause__, PermissionError)
        keys.error = None
        engine.stack("shop/dev", secretive).up()
        before = engine.stack("shop/dev").export_deployment()
    with sync.Engine(store=store, secrets=keys) as engine:
        keys.error = PermissionError("AccessDenied")
        with pytest.raises(sw.DecryptError, match=f"{URL}: the data key was not unwrapped: .*AccessDenied") as unwrapping:
            engine.stack("shop/dev", secretive)
        assert any("permission to decrypt" in hint for hint in unwrapping.value.hints)
        keys.error = None
        assert engine.stack("shop/dev").export_deployment() == before


@pytest.mark.parametrize(
    ("method", "returns", "error"),
    [
        ("wrap_key", lambda key: "text", "secrets.wrap_key returns bytes, not str"),
        ("wrap_key", lambda key: key, "wrap_key returned the data key itself"),
        ("wrap_key", lambda key: b"", "wrap_key returned nothing"),
        ("unwrap_key", lambda key: b"k" * 32, "unwrap_key did not return the data key"),
        ("unwrap_key", lambda key: b"k" * 16, "unwrap_key did not return the data key"),
    ],
)
def test_what_is_no_key_is_refused_before_anything_is_written(tmp_path: Path, method: str, returns: Any, error: str) -> None:
    keys = Keys()
    setattr(keys, method, lambda url, key: returns(key))
    with sync.Engine(store=f"file://{tmp_path}", secrets=keys) as engine:
        stack = engine.stack("shop/dev", secretive)
        with pytest.raises(sw.StackwrightError, match=error) as caught:
            stack.up()
        assert URL in str(caught.value) or "returns bytes" in str(caught.value)
        assert "resources" not in engine.stack("shop/dev").export_deployment()["deployment"]


def test_a_data_key_in_the_text_of_an_error_is_left_out(tmp_path: Path) -> None:
    keys = Keys()
    sent: list[bytes] = []

    def wrap(url: str, key: bytes) -> bytes:
        sent.append(key)
        raise ValueError(f"invalid parameter {key!r}")

    keys.wrap_key = wrap  # type: ignore[method-assign]
    with sync.Engine(store=f"file://{tmp_path}", secrets=keys) as engine, pytest.raises(sw.SecretsError) as caught:
        engine.stack("shop/dev", secretive).up()
    assert "it contained the key" in str(caught.value)
    assert repr(sent[0])[2:-1] not in str(caught.value)


def test_what_is_no_key_service_is_refused_by_name() -> None:
    class Half:
        url = URL

        def wrap_key(self, url: str, key: bytes) -> bytes:
            return key

    class NoUrl(Keys):
        url = None  # type: ignore[assignment]

        def __init__(self) -> None:
            self.calls = []

    class OneArgument(Keys):
        def wrap_key(self, key: bytes) -> bytes:  # type: ignore[override]
            return key

    for given, error in (
        (Half(), "Half has no unwrap_key"),
        (NoUrl(), "whose url is a text"),
        (OneArgument(), "called with 2 arguments"),
        (Keys("alias/shop"), "has a scheme and a key"),
    ):
        with pytest.raises(sw.InvalidInputError, match=error):
            sw.Engine(store="memory://", secrets=given)  # type: ignore[arg-type]


class FakeKms:
    """The client of AWS, as far as it is used."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def encrypt(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {"CiphertextBlob": masked(request["Plaintext"])}

    def decrypt(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {"Plaintext": masked(request["CiphertextBlob"])}


@pytest.mark.parametrize(
    ("key", "url", "name", "context"),
    [
        ("alias/shop", "awskms://alias/shop", "alias/shop", {}),
        (URL + "?region=eu-west-1&context_app=shop&context_of=a%20b", None, "alias/shop", {"app": "shop", "of": "a b"}),
        ("arn:aws:kms:eu-west-1:1:key/ab-c", "awskms:///arn:aws:kms:eu-west-1:1:key/ab-c", "arn:aws:kms:eu-west-1:1:key/ab-c", {}),
    ],
)
def test_a_url_of_aws_names_a_key_and_a_context(key: str, url: str | None, name: str, context: dict[str, str]) -> None:
    client = FakeKms()
    kms = secrets.aws_kms(client, key)
    assert kms.url == (url or key) and repr(kms) == f"<ManagedKey {kms.url}>"
    assert kms.unwrap_key(kms.url, kms.wrap_key(kms.url, b"k" * 32)) == b"k" * 32
    wrapping, unwrapping = client.requests
    assert (wrapping["KeyId"], wrapping["EncryptionContext"]) == (name, context)
    assert unwrapping == {"CiphertextBlob": masked(b"k" * 32), "EncryptionContext": context}
    with pytest.raises(sw.SecretsError, match="one of gcpkms, and the client is one of awskms"):
        kms.wrap_key("gcpkms://projects/p", b"k")


def test_the_siblings_of_aws_call_their_clients() -> None:
    key = b"k" * 32

    class Crypto:
        def __init__(self, identifier: str) -> None:
            self.identifier = identifier

        def encrypt(self, algorithm: str, plaintext: bytes) -> Any:
            assert algorithm == "RSA-OAEP-256"
            return SimpleNamespace(ciphertext=masked(plaintext) * 8)

        def decrypt(self, algorithm: str, ciphertext: bytes) -> Any:
            assert algorithm == "RSA-OAEP-256" and len(ciphertext) == 256
            return SimpleNamespace(plaintext=masked(ciphertext[:32]))

    made: list[Crypto] = []

    def make(identifier: str) -> Crypto:
        made.append(Crypto(identifier))
        return made[-1]

    azure = secrets.azure_key_vault(make, "azurekeyvault://shop.vault.azure.net/keys/k")
    wrapped = azure.wrap_key(azure.url, key)
    assert azure.unwrap_key(azure.url, wrapped) == key
    # The text form of earlier versions.
    assert azure.unwrap_key(azure.url, base64.urlsafe_b64encode(wrapped).rstrip(b"=")) == key
    assert {client.identifier for client in made} == {"https://shop.vault.azure.net/keys/k"}
    assert secrets.azure_key_vault(Crypto("x"), "shop.vault.azure.net/keys/k/v1").wrap_key(azure.url + "/v1", key) == wrapped

    class Google:
        def encrypt(self, request: dict[str, Any]) -> Any:
            assert request["name"] == "projects/p/locations/l/keyRings/r/cryptoKeys/k"
            return SimpleNamespace(ciphertext=masked(request["plaintext"]))

        def decrypt(self, request: dict[str, Any]) -> Any:
            return SimpleNamespace(plaintext=masked(request["ciphertext"]))

    google = secrets.gcp_kms(Google(), "projects/p/locations/l/keyRings/r/cryptoKeys/k")
    assert google.url.startswith("gcpkms://projects/")
    assert google.unwrap_key(google.url, google.wrap_key(google.url, key)) == key

    class Transit:
        def encrypt_data(self, name: str, plaintext: str, mount_point: str) -> Any:
            assert (name, mount_point) == ("shop", "keys")
            return {"data": {"ciphertext": f"vault:v1:{plaintext}"}}

        def decrypt_data(self, name: str, ciphertext: str, mount_point: str) -> Any:
            return {"data": {"plaintext": ciphertext.removeprefix("vault:v1:")}}

    client = SimpleNamespace(secrets=SimpleNamespace(transit=Transit()))
    vault = secrets.hashicorp_vault(client, "hashivault://shop?engine=keys")
    assert vault.wrap_key(vault.url, key).startswith(b"vault:v1:")
    assert vault.unwrap_key(vault.url, vault.wrap_key(vault.url, key)) == key


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for url, module, package in (
        (URL, "boto3", "boto3"),
        ("azurekeyvault://v.vault.azure.net/keys/k", "azure.identity", "azure-identity"),
        ("gcpkms://projects/p", "google.cloud", "google-cloud-kms"),
        ("hashivault://k", "hvac", "hvac"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(sw.SecretsError, match=f"the package {package}.* is not installed"):
            secrets.from_url(url, {})
    with pytest.raises(sw.InvalidInputError, match="there is no key service 'b64'"):
        secrets.from_url("b64://x", {})


@pytest.fixture
def kms(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of KMS with the key ``alias/shop``."""
    # Not skipped where one is missing: requirements-stores.txt has both.
    boto3 = importlib.import_module("boto3")
    moto = importlib.import_module("moto")
    for name, value in (("AWS_ACCESS_KEY_ID", "AKIATEST"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_REGION", "eu-west-1")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    with moto.mock_aws():
        client = boto3.client("kms", region_name="eu-west-1")
        key = client.create_key()["KeyMetadata"]["KeyId"]
        client.create_alias(AliasName="alias/shop", TargetKeyId=key)
        yield client


def test_a_stack_with_kms_goes_from_settings_to_a_passphrase_and_back(tmp_path: Path, kms: Any) -> None:
    from_settings_to_a_passphrase_and_back(tmp_path, secrets.aws_kms(kms, URL + "?context_app=shop"))


def test_the_encryption_context_of_kms_is_that_of_the_url(tmp_path: Path, kms: Any) -> None:
    key = secrets.aws_kms(kms, URL)
    wrapped = key.wrap_key(URL + "?context_app=shop", b"k" * 32)
    assert key.unwrap_key(URL + "?context_app=shop", wrapped) == b"k" * 32
    with pytest.raises(Exception, match="InvalidCiphertext"):
        key.unwrap_key(URL + "?context_app=other", wrapped)


def test_the_automation_api_makes_the_client_from_the_url(tmp_path: Path, kms: Any) -> None:
    auto = pytest.importorskip("stackwright.automation")
    folder = project(tmp_path)
    url = URL + "?region=eu-west-1"
    environment = {"PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}", "PULUMI_HOME": str(tmp_path / "home")}
    settings = auto.LocalWorkspaceOptions(secrets_provider=url, env_vars=environment, work_dir=str(folder))
    pulumi = pytest.importorskip("pulumi")

    def program() -> None:
        pulumi.export("password", pulumi.Output.secret("hunter2"))

    stack = auto.create_or_select_stack("dev", project_name="shop", program=program, opts=settings)
    assert f"secretsprovider: {url}" in (folder / "Pulumi.dev.yaml").read_text()
    stack.set_config("token", auto.ConfigValue("t0ken", secret=True))
    result = stack.up()
    assert result.outputs["password"].value == "hunter2" and result.outputs["password"].secret
    document = json.loads((tmp_path / "state/.pulumi/stacks/shop/dev.json").read_text())
    assert document["checkpoint"]["latest"]["secrets_providers"]["type"] == "cloud"
    again = auto.create_or_select_stack("dev", project_name="shop", program=program, opts=settings)
    assert again.get_config("token").value == "t0ken"
    assert "PULUMI_CONFIG_PASSPHRASE" not in os.environ
