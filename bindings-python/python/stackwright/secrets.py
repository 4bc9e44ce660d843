"""Key services that wrap the data keys of stacks: AWS KMS, Azure Key Vault, Google Cloud KMS and HashiCorp Vault.

Each function takes a client of the service's own package, which the caller makes and configures, and the key for new stacks. The result
is passed as ``secrets`` of an engine, a stack or :meth:`~stackwright.Stack.change_secrets`::

    import boto3
    from stackwright import Engine
    from stackwright.secrets import aws_kms

    engine = Engine(store="file://./state", secrets=aws_kms(boto3.client("kms"), "awskms://alias/shop"))

States and settings files (``secretsprovider`` and ``encryptedkey``) are those of the reference engine's command for the same URL.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .errors import InvalidInputError, SecretsError

__all__ = ["ManagedKey", "aws_kms", "azure_key_vault", "from_url", "gcp_kms", "hashicorp_vault"]

_CONTEXT: Final = "context_"
_TEXT_KEY: Final = re.compile(rb"[A-Za-z0-9_\-]{300,}")
"""The form of a key that earlier versions of the reference engine stored for Azure: base64 of a ciphertext."""


class ManagedKey:
    """A key of a key service: it wraps data keys with the client that it was made with. See :class:`stackwright.KeyService`."""

    def __init__(self, scheme: str, url: str, wrap: Callable[[_Url, bytes], Any], unwrap: Callable[[_Url, bytes], Any]) -> None:
        self._scheme = scheme
        self._wrap = wrap
        self._unwrap = unwrap
        self._url = url
        self._parsed(url)

    @property
    def url(self) -> str:
        """The URL of the key for new stacks."""
        return self._url

    def wrap_key(self, url: str, key: bytes, /) -> bytes:
        """Encrypts a data key with the key that ``url`` names."""
        return bytes(self._wrap(self._parsed(url), key))

    def unwrap_key(self, url: str, wrapped: bytes, /) -> bytes:
        """Decrypts what :meth:`wrap_key` returned, or what the reference engine has stored."""
        return bytes(self._unwrap(self._parsed(url), wrapped))

    def _parsed(self, url: str) -> _Url:
        if not url.startswith(f"{self._scheme}://"):
            scheme = url.partition(":")[0]
            raise SecretsError(f"the stack's key is one of {scheme}, and the client is one of {self._scheme}: {url}")
        return _Url(url)

    def __repr__(self) -> str:
        return f"<ManagedKey {self._url}>"


class _Url:
    """The parts of a URL of a key."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.text = url
        self.host = unquote(parts.netloc)
        self.path = unquote(parts.path).strip("/")
        self.options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.key = "/".join(part for part in (self.host, self.path) if part)
        if not self.key:
            raise InvalidInputError(f"the URL names no key: {url}")

    @property
    def context(self) -> dict[str, str]:
        """What is authenticated with each data key."""
        return {name[len(_CONTEXT) :]: value for name, value in self.options.items() if name.startswith(_CONTEXT)}


def _url_of(scheme: str, key: str) -> str:
    if not isinstance(key, str) or not key:
        raise InvalidInputError(f"the key is a text, its URL or its name, not {key!r}")
    if "://" in key:
        return key
    # The first colon of an ARN would begin a port.
    return f"{scheme}:///{key}" if ":" in key else f"{scheme}://{key}"


def aws_kms(client: Any, key: str) -> ManagedKey:
    """Wraps data keys with a key of AWS KMS.

    :param client: ``boto3.client("kms")``, or an object with its methods ``encrypt`` and ``decrypt``. The parameters ``region`` and
        ``profile`` of a URL are of no effect then: the client has them.
    :param key: The key for new stacks: ``awskms://alias/shop``, ``awskms:///arn:aws:kms:…``, or the name of it without scheme. A parameter
        ``context_NAME`` is a member of the encryption context.
    """

    def wrap(url: _Url, plaintext: bytes) -> Any:
        return client.encrypt(KeyId=url.key, Plaintext=plaintext, EncryptionContext=url.context)["CiphertextBlob"]

    def unwrap(url: _Url, ciphertext: bytes) -> Any:
        # The ciphertext names its key, which another alias may have by now.
        return client.decrypt(CiphertextBlob=ciphertext, EncryptionContext=url.context)["Plaintext"]

    return ManagedKey("awskms", _url_of("awskms", key), wrap, unwrap)


def azure_key_vault(client: Any, key: str) -> ManagedKey:
    """Wraps data keys with a key of Azure Key Vault.

    :param client: A ``CryptographyClient`` of ``azure-keyvault-keys`` for the key, or a function that makes one from the key's identifier
        (``https://VAULT.vault.azure.net/keys/NAME[/VERSION]``): needed where stacks have different keys.
    :param key: The key for new stacks: ``azurekeyvault://VAULT.vault.azure.net/keys/NAME``, with or without a version. The parameter
        ``algorithm`` is ``RSA-OAEP-256`` when left out.
    """

    def of(url: _Url) -> Any:
        return client if hasattr(client, "encrypt") else client(f"https://{url.host}/{url.path}")

    def algorithm(url: _Url) -> str:
        return url.options.get("algorithm", "RSA-OAEP-256")

    def wrap(url: _Url, plaintext: bytes) -> Any:
        return of(url).encrypt(algorithm(url), plaintext).ciphertext

    def unwrap(url: _Url, ciphertext: bytes) -> Any:
        if not _TEXT_KEY.fullmatch(ciphertext):
            return of(url).decrypt(algorithm(url), ciphertext).plaintext
        padding = b"=" * (-len(ciphertext) % 4)
        plaintext = of(url).decrypt(algorithm(url), base64.urlsafe_b64decode(ciphertext + padding)).plaintext
        return base64.b64decode(plaintext) if len(plaintext) > 32 else plaintext

    return ManagedKey("azurekeyvault", _url_of("azurekeyvault", key), wrap, unwrap)


def gcp_kms(client: Any, key: str) -> ManagedKey:
    """Wraps data keys with a key of Google Cloud KMS.

    :param client: A ``KeyManagementServiceClient`` of ``google-cloud-kms``.
    :param key: The key for new stacks: ``gcpkms://projects/P/locations/L/keyRings/R/cryptoKeys/K``, or without the scheme.
    """

    def wrap(url: _Url, plaintext: bytes) -> Any:
        return client.encrypt(request={"name": url.key, "plaintext": plaintext}).ciphertext

    def unwrap(url: _Url, ciphertext: bytes) -> Any:
        return client.decrypt(request={"name": url.key, "ciphertext": ciphertext}).plaintext

    return ManagedKey("gcpkms", _url_of("gcpkms", key), wrap, unwrap)


def hashicorp_vault(client: Any, key: str) -> ManagedKey:
    """Wraps data keys with a key of the transit engine of HashiCorp Vault.

    :param client: An ``hvac.Client``.
    :param key: The key for new stacks: ``hashivault://NAME``, or its name. The parameter ``engine`` is where the transit engine is mounted,
        ``transit`` when left out.
    """

    def wrap(url: _Url, plaintext: bytes) -> Any:
        text = base64.b64encode(plaintext).decode()
        answer = client.secrets.transit.encrypt_data(name=url.key, plaintext=text, mount_point=url.options.get("engine", "transit"))
        return answer["data"]["ciphertext"].encode()

    def unwrap(url: _Url, ciphertext: bytes) -> Any:
        answer = client.secrets.transit.decrypt_data(
            name=url.key, ciphertext=ciphertext.decode(), mount_point=url.options.get("engine", "transit")
        )
        return base64.b64decode(answer["data"]["plaintext"])

    return ManagedKey("hashivault", _url_of("hashivault", key), wrap, unwrap)


def from_url(url: str, environment: Mapping[str, str] | None = None) -> ManagedKey:
    """Returns the key of a URL, with a client that is made from the URL and from variables of the environment, as the reference engine's
    command does it. The package of the service must be installed: ``boto3``, ``azure-identity`` and ``azure-keyvault-keys``,
    ``google-cloud-kms``, or ``hvac``.

    :param url: ``awskms://alias/shop?region=eu-west-1&profile=shop``, for instance.
    :param environment: The variables; those of the process when left out.
    """
    scheme = url.partition(":")[0]
    make = _MAKERS.get(scheme)
    if make is None:
        raise InvalidInputError(f"{url}: there is no key service {scheme!r}; there are {', '.join(sorted(_MAKERS))}")
    return make(url, os.environ if environment is None else environment)


def _missing(url: str, package: str, error: ImportError) -> SecretsError:
    return SecretsError(f"{url}: the package {package} is not installed ({error}): install it, or pass a client of the service as secrets")


def _aws(url: str, environment: Mapping[str, str]) -> ManagedKey:
    try:
        import boto3  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise _missing(url, "boto3", error) from error
    options = _Url(url).options
    profile = options.get("profile") or environment.get("AWS_PROFILE")
    region = options.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    credentials = {
        "aws_access_key_id": environment.get("AWS_ACCESS_KEY_ID"),
        "aws_secret_access_key": environment.get("AWS_SECRET_ACCESS_KEY"),
        "aws_session_token": environment.get("AWS_SESSION_TOKEN"),
    }
    # A profile of the URL is asked for by name; that of the environment has less weight than credentials.
    chosen = {} if "profile" in options or not credentials["aws_access_key_id"] else credentials
    session = boto3.Session(profile_name=None if chosen else profile, region_name=region, **chosen)
    endpoint = environment.get("AWS_ENDPOINT_URL_KMS") or environment.get("AWS_ENDPOINT_URL")
    return aws_kms(session.client("kms", endpoint_url=endpoint), url)


def _azure(url: str, environment: Mapping[str, str]) -> ManagedKey:
    try:
        from azure.identity import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
            ClientSecretCredential,
            DefaultAzureCredential,
        )
        from azure.keyvault.keys.crypto import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
            CryptographyClient,
        )
    except ImportError as error:
        raise _missing(url, "azure-identity or azure-keyvault-keys", error) from error
    names = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")
    if all(environment.get(name) for name in names):
        credential: Any = ClientSecretCredential(*(environment[name] for name in names))
    else:
        credential = DefaultAzureCredential()
    return azure_key_vault(lambda identifier: CryptographyClient(identifier, credential), url)


def _gcp(url: str, environment: Mapping[str, str]) -> ManagedKey:
    try:
        from google.cloud import kms  # type: ignore[import-not-found,import-untyped,attr-defined,unused-ignore]
    except ImportError as error:
        raise _missing(url, "google-cloud-kms", error) from error
    file = environment.get("GOOGLE_APPLICATION_CREDENTIALS")
    client = kms.KeyManagementServiceClient
    return gcp_kms(client.from_service_account_file(file) if file else client(), url)


def _vault(url: str, environment: Mapping[str, str]) -> ManagedKey:
    try:
        import hvac  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError as error:
        raise _missing(url, "hvac", error) from error
    address = environment.get("VAULT_SERVER_URL") or environment.get("VAULT_ADDR")
    if not address:
        raise SecretsError(f"{url}: the variable VAULT_SERVER_URL, or VAULT_ADDR, has the address of the server, and is not set")
    token = environment.get("VAULT_SERVER_TOKEN") or environment.get("VAULT_TOKEN")
    return hashicorp_vault(hvac.Client(url=address, token=token), url)


_MAKERS: Final[Mapping[str, Callable[[str, Mapping[str, str]], ManagedKey]]] = {
    "awskms": _aws,
    "azurekeyvault": _azure,
    "gcpkms": _gcp,
    "hashivault": _vault,
}


class EnvironmentKeys:
    """Wraps data keys with the keys that URLs name, with clients that are made from an environment when they are needed."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._keys: dict[str, ManagedKey] = {}

    def _of(self, url: str) -> ManagedKey:
        # Two threads may make one each; both are good.
        key = self._keys.get(url)
        if key is None:
            key = self._keys[url] = from_url(url, self._environment)
        return key

    def wrap_key(self, url: str, key: bytes, /) -> bytes:
        """Encrypts a data key."""
        return self._of(url).wrap_key(url, key)

    def unwrap_key(self, url: str, wrapped: bytes, /) -> bytes:
        """Decrypts a data key."""
        return self._of(url).unwrap_key(url, wrapped)
