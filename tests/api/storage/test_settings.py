"""The storage's variables: accepted beside rejected."""

import json
from pathlib import Path

import pytest
from service_api.storage.settings import StorageSettings, read_storage_settings
from service_common.config import ConfigurationError, EnvironmentReader

KEY = json.dumps({"client_email": "a@b.invalid", "private_key": "k", "token_uri": "https://token.invalid"})


def read(environment: dict[str, str]) -> StorageSettings:
    reader = EnvironmentReader(environment)
    settings = read_storage_settings(reader, with_account=True)
    reader.check()
    return settings


def test_bucket_alone_uses_workload_identity() -> None:
    assert read({"SERVICE_STORAGE_BUCKET": "sealed-work"}) == StorageSettings("sealed-work")


def test_storage_settings__all_three__are_read(tmp_path: Path) -> None:
    file = tmp_path / "key.json"
    file.write_text(KEY)
    environment = {
        "SERVICE_STORAGE_BUCKET": "sealed-work",
        "SERVICE_STORAGE_ENDPOINT": "http://127.0.0.1:4443",
        "SERVICE_STORAGE_CREDENTIALS_FILE": str(file),
    }

    settings = read(environment)

    assert settings == StorageSettings("sealed-work", "http://127.0.0.1:4443", KEY)
    assert "private_key" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SERVICE_STORAGE_BUCKET", ""),
        ("SERVICE_STORAGE_BUCKET", "Sealed"),
        ("SERVICE_STORAGE_BUCKET", "a/b"),
        ("SERVICE_STORAGE_ENDPOINT", "127.0.0.1:4443"),
        ("SERVICE_STORAGE_ENDPOINT", "ftp://host"),
        ("SERVICE_STORAGE_ENDPOINT", "http://host/path"),
        ("SERVICE_STORAGE_ENDPOINT", "http://user@host"),
        ("SERVICE_STORAGE_CREDENTIALS", "{"),
        ("SERVICE_STORAGE_CREDENTIALS", "[]"),
        ("SERVICE_STORAGE_CREDENTIALS", '{"client_email": "a", "private_key": 1, "token_uri": "u"}'),
        ("SERVICE_STORAGE_CREDENTIALS_FILE", "/nowhere/key.json"),
    ],
)
def test_malformed_setting_names_its_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read({"SERVICE_STORAGE_BUCKET": "sealed-work", name: value})

    assert name.removesuffix("_FILE") in str(refusal.value)
