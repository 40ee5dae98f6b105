"""The throw-away service account: a key file for the services, and its public half for the local storage."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)


@dataclass(frozen=True, slots=True)
class Account:
    """The local storage's facts of the service account."""

    email: str
    key_id: str
    token_uri: str
    public_key: rsa.RSAPublicKey


def make_service_account(directory: Path, token_uri: str) -> tuple[Path, Path]:
    """Write a new account's key file in Google's format, and its public half, both mode 0600; return their paths."""
    private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    common = {
        "type": "service_account",
        "project_id": "local-stack",
        "private_key_id": secrets.token_hex(20),
        "client_email": "service@local-stack.invalid",
        "client_id": str(secrets.randbelow(10**20)),
        "token_uri": token_uri,
    }
    private = private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = private_key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return (
        _write(directory / "service-account.json", common | {"private_key": private}),
        _write(directory / "service-account.public.json", common | {"public_key": public}),
    )


def read_account(path: Path) -> Account:
    """Read the public half from either file; ``ValueError`` for anything else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if "public_key" in content:
            key = load_pem_public_key(content["public_key"].encode())
        else:
            key = load_pem_private_key(content["private_key"].encode(), None).public_key()
        if not isinstance(key, rsa.RSAPublicKey):
            raise ValueError("the key is not RSA")
        return Account(content["client_email"], content["private_key_id"], content["token_uri"], key)
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a service account file: {error}") from error


def _write(path: Path, content: dict[str, str]) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
    return path
