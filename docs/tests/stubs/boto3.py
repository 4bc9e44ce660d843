"""The part of boto3 that pages use, without a server."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any


class _Keys:
    def encrypt(self, *, KeyId: str, Plaintext: bytes, EncryptionContext: dict[str, str]) -> dict[str, bytes]:
        return {"CiphertextBlob": bytes(byte ^ 0x55 for byte in Plaintext)}

    def decrypt(self, *, CiphertextBlob: bytes, EncryptionContext: dict[str, str]) -> dict[str, bytes]:
        return {"Plaintext": bytes(byte ^ 0x55 for byte in CiphertextBlob)}


class _Tokens:
    def assume_role(self, *, RoleArn: str, RoleSessionName: str) -> dict[str, Any]:
        expires = datetime.now(timezone.utc) + timedelta(hours=1)
        return {"Credentials": {"AccessKeyId": "id", "SecretAccessKey": "key", "SessionToken": "token", "Expiration": expires}}


def client(service: str) -> Any:
    return {"kms": _Keys, "sts": _Tokens}[service]()


class Session:
    def __init__(self, *, profile_name: str) -> None:
        self.profile_name = profile_name

    def get_credentials(self) -> Any:
        frozen = SimpleNamespace(access_key="id", secret_key="key", token=None)
        return SimpleNamespace(get_frozen_credentials=lambda: frozen)
