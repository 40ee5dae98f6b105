"""Where the bucket is and as whom it is reached: ``SERVICE_STORAGE_BUCKET``, ``_ENDPOINT``, ``_CREDENTIALS``.

A service account's key is checked for its shape before anything starts; without a key the process uses the identity of
its workload. The endpoint is an origin and only overrides Google's own.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from service_common.config import EnvironmentReader

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_KEY_FIELDS: Final = ("client_email", "private_key", "token_uri")


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """One bucket. ``credentials`` is the JSON text of a service account's key, None for workload identity."""

    bucket: str
    endpoint: str | None = None
    credentials: str | None = field(default=None, repr=False)


def read_storage_settings(reader: EnvironmentReader, *, with_account: bool) -> StorageSettings:
    """Read the settings of a process that names the bucket to browsers, and reaches it itself if it has an account."""
    about = "the bucket for ciphertexts, which the pages let browsers reach"
    bucket = reader.required("SERVICE_STORAGE_BUCKET", parse_bucket, about)
    about = "another endpoint with the same interface"
    endpoint = reader.optional("SERVICE_STORAGE_ENDPOINT", parse_endpoint, None, about, shown="Google's")
    if not with_account:
        return StorageSettings(bucket, endpoint)
    about, name = "the JSON key of a service account", "SERVICE_STORAGE_CREDENTIALS"
    key = reader.optional(name, parse_credentials, None, about, shown="workload identity")
    return StorageSettings(bucket, endpoint, key)


def parse_bucket(text: str) -> str:
    """Parse a bucket's name."""
    if _BUCKET.fullmatch(text) is None:
        raise ValueError("a bucket name has lower-case letters, digits, dots, dashes and underscores")
    return text


def parse_endpoint(text: str) -> str:
    """Parse an origin such as ``https://storage.example``."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path or parts.query or parts.username:
        raise ValueError("an endpoint is http:// or https:// and a host, without a path")
    return text


def parse_credentials(text: str) -> str:
    """Parse the JSON text of a service account's key file."""
    try:
        key = json.loads(text)
    except ValueError:
        raise ValueError("not the JSON of a service account's key file") from None
    if not isinstance(key, dict) or not all(isinstance(key.get(name), str) for name in _KEY_FIELDS):
        raise ValueError("a service account's key file has client_email, private_key and token_uri")
    return text
