"""Secrets: encryption by the host and by passphrases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import stackwright as sw
from stackwright import sync

from conftest import Vault


class AsyncVault(Vault):
    async def encrypt(self, plaintexts: Sequence[str]) -> Sequence[str]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().encrypt(plaintexts)

    async def decrypt(self, ciphertexts: Sequence[str]) -> Sequence[str]:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().decrypt(ciphertexts)


async def secretive(ctx: sw.Context) -> None:
    ctx.export("token", ctx.config.secret("token"))
    ctx.export("password", sw.secret("hunter2"))


@pytest.mark.parametrize("vault", [Vault(), AsyncVault()], ids=["blocking", "async"])
def test_the_host_encrypts_secrets(tmp_path: Path, vault: Vault) -> None:
    async def run() -> None:
        store = f"file://{tmp_path / vault.__class__.__name__}"
        async with sw.Engine(store=store, secrets=vault) as engine:
            config = {"token": sw.Ciphertext("v:nekot")}
            stack = await engine.stack("shop/dev", secretive, config=config)
            result = await stack.up()
            assert result.outputs == {"token": sw.OutputValue("token", True), "password": sw.OutputValue("hunter2", True)}
            deployment = (await stack.export_deployment())["deployment"]
            assert deployment["secrets_providers"] == {"type": "vault", "state": {"key": "key-1"}}
            text = json.dumps(deployment)
            assert "v:\\\"2retnuh\\\"" in text and "hunter2" not in text
        async with sw.Engine(store=store, secrets=vault) as engine:
            assert (await (await engine.stack("shop/dev")).outputs())["password"] == sw.OutputValue("hunter2", True)

    asyncio.run(run())


@pytest.mark.parametrize("vault", [Vault(), AsyncVault()], ids=["blocking", "async"])
def test_the_deployment_of_a_result_needs_no_further_encryption(vault: Vault) -> None:
    async def run() -> None:
        async with sw.Engine(store="memory://", secrets=vault) as engine:
            stack = await engine.stack("shop/dev", secretive, config={"token": sw.Ciphertext("v:nekot")})
            result = await stack.up()
            deployment = result.deployment()
            assert deployment == await stack.export_deployment()
            assert "2retnuh" in json.dumps(deployment) and "hunter2" not in json.dumps(deployment)
            assert (await stack.preview()).deployment() is None
            destroyed = (await stack.destroy()).deployment()
            assert destroyed is not None and "resources" not in destroyed["deployment"]

    asyncio.run(run())


def test_an_operation_that_never_read_the_state_has_none() -> None:
    with sync.Engine(store="memory://") as engine:
        stack = engine.stack("shop/dev", secretive, config={"token": sw.secret("t")})
        with pytest.raises(sw.InvalidInputError) as caught:
            stack.up(snippets=[{}])
        assert caught.value.result is not None and caught.value.result.deployment() is None
        deployment = stack.up().deployment()
        assert deployment == stack.export_deployment()


@pytest.mark.parametrize("vault", [Vault(), AsyncVault()], ids=["blocking", "async"])
def test_an_error_of_the_hosts_decryption_names_the_key_and_the_cause(vault: Vault) -> None:
    async def run() -> None:
        vault.sealed = True
        async with sw.Engine(store="memory://", secrets=vault) as engine:
            stack = await engine.stack("shop/dev", secretive, config={"token": sw.Ciphertext("v:nekot")})
            with pytest.raises(sw.DecryptError, match="shop:token.*the vault is sealed") as caught:
                await stack.up()
            assert (caught.value.error_class, caught.value.phase) == ("decrypt", "decrypt")
            cause = caught.value.__cause__
            assert isinstance(cause, PermissionError) and str(cause) == "the vault is sealed"

    asyncio.run(run())


def test_stacks_with_a_passphrase_and_with_the_hosts_encryption_coexist(tmp_path: Path) -> None:
    store = f"file://{tmp_path}"
    with sync.Engine(store=store, passphrase="old") as engine:
        engine.stack("shop/old", secretive, config={"token": sw.secret("t")}).up()
    with sync.Engine(store=store, passphrase="old", secrets=Vault()) as engine:
        outputs = engine.stack("shop/old").outputs(show_secrets=True)
        assert sw.unwrap(outputs) == {"token": "t", "password": "hunter2"}
        assert repr(outputs["token"]) == "OutputValue(value='t', secret=True)"
    for settings in ({"secrets": Vault()}, {"passphrase": "new"}):
        with sync.Engine(store=store, **settings) as engine, pytest.raises(sw.DecryptError):
            engine.stack("shop/old").outputs()


def test_the_kind_of_the_hosts_secrets_must_not_be_reserved() -> None:
    class Impostor(Vault):
        kind = "passphrase"

    with pytest.raises(sw.InvalidInputError, match="a name of its own"):
        sw.Engine(store="memory://", secrets=Impostor())


def test_the_host_takes_the_place_of_a_key_service() -> None:
    class Keys(Vault):
        kind = "cloud"
        state = {"encryptedkey": "AQ==", "url": "awskms://alias/ours"}

    with sync.Engine(store="memory://", secrets=Keys()) as engine:
        stack = engine.stack("shop/dev", secretive, config={"token": "t"})
        stack.up()
        recorded = stack.export_deployment()["deployment"]["secrets_providers"]
    assert recorded == {"type": "cloud", "state": Keys.state}


def test_a_secret_has_no_implicit_text() -> None:
    secret = sw.secret("hunter2")
    for show in (str, format, "{}".format, lambda value: f"{value:>20}", lambda value: "%s" % value):
        with pytest.raises(TypeError, match="a secret has no text that may be shown"):
            show(secret)
    assert repr(secret) == f"{secret!r}" == "[secret]" and str([secret]) == "[[secret]]"


def test_secret_configuration_is_secret_however_it_is_read(tmp_path: Path) -> None:
    async def program(ctx: sw.Context) -> None:
        config = ctx.config
        for value in (config["pw"], config.get("pw"), config.require("pw"), config.secret("pw"), dict(config)["shop:pw"]):
            assert isinstance(value, sw.Secret) and value.value == "hunter2"
        assert config.object("keys") == sw.Secret({"a": ["b", 1, True, None]})
        assert config["port"] == sw.Secret("80") and config["nothing"] == sw.Secret("null")
        assert config["open"] == config.require("open") == "x" and config.secret("open") == sw.Secret("x")
        assert config.get("none") is None
        ctx.export("pw", config["pw"])

    async def run() -> None:
        async with sw.Engine(store=f"file://{tmp_path}", passphrase="x") as engine:
            config = {"pw": sw.secret("hunter2"), "open": "x", "keys": sw.secret({"a": [sw.secret("b"), 1, True, None]})}
            config |= {"port": sw.secret(80), "nothing": sw.secret(None)}
            stack = await engine.stack("shop/dev", program, config=config)
            assert (await stack.up()).outputs == {"pw": sw.OutputValue("hunter2", True)}
            assert "hunter2" not in str(await stack.export_deployment())

    asyncio.run(run())


# A configuration file of the reference engine: the passphrase is "correct horse".
SALT = "v1:T9FaSItA8xQ=:v1:Kr1yt5YlRPcWOb8A:cKkXdfcl/fR2vHkjxnls0SsHa1kjNw=="
TOKEN = "v1:kJRS4pwT81fxH2Qd:P+0Qu+OtRhM0ap/gfhSeE5kf4mEzW9eyqGE="


def test_encrypted_configuration_of_a_file_is_read_with_its_salt_before_there_is_a_state() -> None:
    def open(engine: sync.Engine) -> sync.Stack:
        config = {"token": sw.Ciphertext(TOKEN)}
        return engine.stack("fixtures/dev", secretive, config=config, encryption_salt=SALT)

    with sync.Engine(store="memory://", passphrase="correct horse") as engine:
        stack = open(engine)
        expected = {"token": sw.OutputValue("tok-secret", True), "password": sw.OutputValue("hunter2", True)}
        assert stack.preview().outputs == expected
        assert stack.up().outputs == expected
        assert stack.export_deployment()["deployment"]["secrets_providers"]["state"] == {"salt": SALT}
        with pytest.raises(sw.InvalidInputError, match="encryption_salt takes a string, not a number"):
            engine.stack("fixtures/dev", encryption_salt=5)  # type: ignore[arg-type]
    with sync.Engine(store="memory://", passphrase="wrong") as engine:
        with pytest.raises(sw.DecryptError, match="fixtures:token.*incorrect passphrase"):
            open(engine).preview()
        with pytest.raises(sw.DecryptError, match="^getting stack configuration: .*: incorrect passphrase"):
            open(engine).up()


def test_a_first_preview_decrypts_secrets_of_the_hosts_encryption() -> None:
    with sync.Engine(store="memory://", secrets=Vault()) as engine:
        stack = engine.stack("shop/dev", secretive, config={"token": sw.Ciphertext("v:nekot")})
        assert stack.preview().outputs["token"] == sw.OutputValue("token", True)
        stack = engine.stack("shop/dev", secretive, config={"token": {"secure": "v:nekot"}})
        assert stack.preview().outputs["token"] == sw.OutputValue("token", True), "as configuration files have it"
        with pytest.raises(sw.InvalidInputError, match="shop:token is or holds .*secure.* int"):
            engine.stack("shop/dev", config={"token": {"secure": 5}})


def test_a_stack_overrides_passphrase_and_encryption() -> None:
    def secretive(ctx: sw.Context) -> None:
        ctx.export("s", sw.secret("hunter2"))

    with sync.Engine(store="memory://", passphrase="of the engine") as engine:
        engine.stack("shop/base", secretive, passphrase="of the base").up()
        for passphrase in (None, "another"):
            with pytest.raises(sw.DecryptError, match="stack 'shop/base': incorrect passphrase"):
                engine.stack("shop/base", passphrase=passphrase)
        again = engine.stack("shop/base", passphrase="of the base")
        assert again.outputs()["s"] == sw.OutputValue("hunter2", True)
        for vault in (Vault(), AsyncVault()):
            own = engine.stack(f"shop/{type(vault).__name__}", secretive, secrets=vault)
            own.up()
            assert own.export_deployment()["deployment"]["secrets_providers"]["type"] == "vault"
        with pytest.raises(sw.InvalidInputError, match="passphrase of a stack is empty"):
            engine.stack("a/b", passphrase="")
        with pytest.raises(sw.InvalidInputError, match="reference_passphrases"):
            engine.stack("a/b", reference_passphrases={"a/c": 1})  # type: ignore[dict-item]


def test_a_reference_reads_a_stack_whose_passphrase_the_referring_stack_names() -> None:
    def secretive(ctx: sw.Context) -> None:
        ctx.export("s", sw.secret("hunter2"))

    async def referring(ctx: sw.Context) -> None:
        found = ctx.read("pulumi:pulumi:StackReference", "base", "shop/base", {"name": "shop/base"})
        ctx.export("found", found["outputs"])

    with sync.Engine(store="memory://", passphrase="of the engine") as engine:
        engine.stack("shop/base", secretive, passphrase="of the base").up()
        references = {"shop/base": "of the base"}
        found = engine.stack("shop/dev", referring, reference_passphrases=references).up().outputs["found"]
        assert found == sw.OutputValue({"s": "hunter2"}, True)
        with pytest.raises(sw.StackwrightError, match="stack 'shop/base': incorrect passphrase"):
            engine.stack("shop/dev", referring).up()
