"""Apps of the services with the dependencies of a real process, of which none is reached before the first request."""

import json
import tempfile
from pathlib import Path

import service_api.app
import service_api.config
import service_api.resources
import service_delivery.app
import service_delivery.config
import service_reviewer.app
from bounty_protocol.crypto.x25519 import Identity
from flask import Flask
from gcs_twin.keys import make_service_account

_NOWHERE = "http://127.0.0.1:9"
_CHAIN = {
    "SERVICE_CHAIN_ID": "8453",
    "SERVICE_HUB_ADDRESS": "0x" + "22" * 20,
    "SERVICE_RPC_URLS": f"{_NOWHERE},http://127.0.0.1:7",
    "SERVICE_PUBLIC_HOST": "bounties.example",
    "SERVICE_DATABASE_URL": "postgresql://service@127.0.0.1:9/service",
    "SERVICE_REDIS_URL": "redis://127.0.0.1:9/0",
    "SERVICE_STORAGE_BUCKET": "sealed-work",
}


def api() -> Flask:
    """The api's."""
    with tempfile.TemporaryDirectory() as folder:
        make_service_account(Path(folder), f"{_NOWHERE}/token")
        credentials = (Path(folder) / "service-account.json").read_text(encoding="utf-8")
    more = {
        "SERVICE_DELIVERY_URL": _NOWHERE,
        "SERVICE_REVIEWER_URL": _NOWHERE,
        "SERVICE_STORAGE_CREDENTIALS": credentials,
    }
    config = service_api.config.read_config({**_CHAIN, **more})
    return service_api.app.make_app(service_api.resources.make_resources(config))


def delivery() -> Flask:
    """The delivery service's."""
    with tempfile.TemporaryDirectory() as folder:
        keys = Path(folder) / "keys.json"
        keys.touch(mode=0o600)
        keys.write_text(json.dumps([Identity.generate().to_text()]), encoding="utf-8")
        config = service_delivery.config.read_config({**_CHAIN, "SERVICE_DELIVERY_PRIVATE_KEYS_FILE": str(keys)})
    return service_delivery.app.make_app(config)


def reviewer() -> Flask:
    """The reviewer's."""
    return service_reviewer.app.make_app()
