"""Delivery keys over time: made ready, published, retired with a grace, wrapped again, destroyed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bounty_protocol.chain.hub import Hub
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import UnixSeconds
from service_common.config import ConfigurationError, SettingWrong
from service_delivery import rotation, tables
from service_delivery.config import KEY_GRACE_SECONDS, read_config
from service_delivery.keys import check_keys, describe_keys, key_id
from sqlalchemy import insert, select, update

from tests.delivery.conftest import HOST, Delivery
from tests.delivery.test_delivery import awarded, counted_failures, exists, refusal


def rewrap(delivery: Delivery) -> int:
    """How many wraps were renewed."""
    return rewrapped(delivery).rewrapped


def rewrapped(delivery: Delivery) -> rotation.Rewrapped:
    """What ``service-delivery rewrap`` does, in this process."""
    with delivery.world.facts("service_delivery").open() as facts:
        now = facts.head.block_time
    return rotation.rewrap(delivery.world.engine("service_delivery"), now, read_config(delivery.variables).keyring)


def command(delivery: Delivery, name: str) -> dict[str, object]:
    """The one line that a command prints, as an operator types it."""
    program = Path(sys.executable).parent / "service-delivery"
    environment = {**delivery.variables, "PATH": os.environ["PATH"]}
    done = subprocess.run([program, name], env=environment, capture_output=True, text=True, timeout=60, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def described(delivery: Delivery) -> dict[object, dict[str, object]]:
    """What ``service-delivery keys`` prints, by public key."""
    config = read_config(delivery.variables)
    with delivery.world.facts("service_delivery").open() as facts:
        lines = describe_keys(facts, config.keyring, config.key_grace_seconds)
    return {line.get("delivery_public_key", line["key_id"]): line for line in lines}


def stored(delivery: Delivery) -> list[tuple[str, bytes]]:
    with delivery.world.engine("service_delivery").connect() as connection:
        rows = connection.execute(select(tables.wraps.c.key_id, tables.wraps.c.wrapped_key)).all()
    return [(row.key_id, bytes(row.wrapped_key)) for row in rows]


def served(delivery: Delivery) -> object:
    answer = delivery.client.get("/api/deployment/delivery-key").json
    assert answer is not None
    return answer["delivery_public_key"]


def test_rotation_loses_no_wrap(
    delivery: Delivery,
) -> None:
    world, old, new = delivery.world, delivery.world.delivery, Identity.generate()
    bounty_id, envelope, identity, _ = awarded(delivery)
    retrieve, poster = f"/api/bounties/{bounty_id}/delivery/retrieve", world.people.poster.wallet
    assert delivery.wrap(1, envelope, identity).status_code == 201

    def opens(service: Delivery) -> bool:
        fresh = Identity.generate()
        answer = service.call(poster, retrieve, {"poster_ephemeral_public_key": fresh.public_key}).json
        assert answer is not None
        return sealed_box.unwrap(answer["wrapped_key"], [fresh], envelope.content_public_key).secret == identity.secret

    ready = delivery.restarted(new, old)
    assert served(ready) == old.public_key
    assert described(delivery)[new.public_key]["state"] == "held"
    assert rewrap(delivery) == 0
    delivery.publish(new)
    assert served(ready) == new.public_key
    assert opens(ready)
    assert ready.wrap(2, envelope, identity, old).status_code == 200
    before = stored(delivery)
    assert rewrap(delivery) == 1
    assert rewrap(delivery) == 0
    assert stored(delivery)[0][0] != before[0][0]
    assert opens(ready)
    told = described(delivery)[old.public_key]
    assert (told["state"], told["wraps"], told["may_be_destroyed"]) == ("retired", 0, False)
    world.advance_to(int(str(told["takes_wraps_until"])))
    world.finalize()
    assert described(delivery)[old.public_key]["may_be_destroyed"] is True
    assert refusal(ready.wrap(2, envelope, identity, old)) == (400, "invalid_winning_solution_delivery")
    assert opens(delivery.restarted(new))
    assert int(str(told["takes_wraps_until"])) - int(str(told["retired_at"])) == KEY_GRACE_SECONDS


def test_rewrap_leaves_what_no_key_opens(
    delivery: Delivery,
) -> None:
    bounty_id, envelope, identity, _ = awarded(delivery)
    assert delivery.wrap(1, envelope, identity).status_code == 201
    with delivery.world.engine("service_delivery").begin() as connection:
        connection.execute(update(tables.wraps).values(wrapped_key=bytes(80), key_id="0x" + "11" * 8))
    before = stored(delivery)
    assert rewrap(delivery) == 0
    assert stored(delivery) == before
    assert described(delivery)["0x" + "11" * 8] == {"key_id": "0x" + "11" * 8, "state": "missing", "wraps": 1}
    assert not exists(delivery, bounty_id, envelope)  # so that it is listed as owed again, and handed over again
    assert delivery.wrap(2, envelope, identity).status_code == 201
    assert exists(delivery, bounty_id, envelope)


def test_rewrap_of_more_than_one_batch_renews_all(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    world, old, new = delivery.world, delivery.world.delivery, Identity.generate()
    for _ in range(3):
        _, envelope, identity, _ = awarded(delivery)
        assert delivery.wrap(1, envelope, identity).status_code == 201
    delivery.restarted(new, old)
    delivery.publish(new)
    monkeypatch.setattr(rotation, "BATCH", 2)
    engine, now = world.engine("service_delivery"), UnixSeconds(world.time())
    assert rotation.rewrap(engine, now, (new, old)) == rotation.Rewrapped(rewrapped=3, left=0)


def test_rewrap_command_counts_what_is_left(delivery: Delivery) -> None:
    _, envelope, identity, _ = awarded(delivery)
    assert delivery.wrap(1, envelope, identity).status_code == 201
    damaged = {"bounty_id": 0, "submission_commitment": "0x" + "00" * 32, "wrapped_key": bytes(80)}
    with delivery.world.engine("service_delivery").begin() as connection:
        row = {**damaged, "solver": f"0x{7:040x}", "key_id": key_id(delivery.world.delivery.public_key)}
        connection.execute(insert(tables.wraps), [row])
    new = Identity.generate()
    delivery.restarted(new, delivery.world.delivery)
    delivery.publish(new)
    assert command(delivery, "rewrap") == {"rewrapped": 1, "left": 1}
    assert rewrapped(delivery) == rotation.Rewrapped(rewrapped=0, left=1)


def test_keys_command_prints_no_secret(delivery: Delivery) -> None:
    program = Path(sys.executable).parent / "service-delivery"
    environment = {**delivery.variables, "PATH": os.environ["PATH"]}
    done = subprocess.run([program, "keys"], env=environment, capture_output=True, text=True, timeout=60, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["state"] for line in lines] == ["current", "held"]
    assert lines[0]["delivery_public_key"] == delivery.world.delivery.public_key
    assert "AGE-SECRET-KEY" not in done.stdout + done.stderr


def variables(tmp_path: Path, text: str, mode: int = 0o600) -> dict[str, str]:
    """A configuration with this key file."""
    file = tmp_path / "keys.json"
    file.write_text(text)
    file.chmod(mode)
    return {
        "SERVICE_CHAIN_ID": "31337",
        "SERVICE_HUB_ADDRESS": "0x" + "ab" * 20,
        "SERVICE_RPC_URLS": "http://127.0.0.1:9",
        "SERVICE_PUBLIC_HOST": HOST,
        "SERVICE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
        "SERVICE_DELIVERY_PRIVATE_KEYS_FILE": str(file),
    }


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o666, 0o601])
def test_readable_key_file_is_refused(tmp_path: Path, mode: int) -> None:
    keys = json.dumps([Identity.generate().to_text()])
    with pytest.raises(ConfigurationError, match="can be read by every user"):
        read_config(variables(tmp_path, keys, mode))
    read_config(variables(tmp_path, keys, 0o640))


def test_bad_keys_are_refused_and_not_repeated(tmp_path: Path) -> None:
    secret = Identity.generate().to_text()
    with pytest.raises(ConfigurationError) as refused:
        read_config(variables(tmp_path, "[]") | {"SERVICE_DELIVERY_PRIVATE_KEYS": f'["{secret}"]'})
    assert secret not in str(refused.value)
    for text in ("", "[]", "{}", f'["{secret}", "{secret}"]', f'["{secret[:-1]}"]', "7"):
        with pytest.raises(ConfigurationError) as refused:
            read_config(variables(tmp_path, text))
        assert secret[20:] not in str(refused.value)


def test_memory_with_keys_is_nobody_elses() -> None:
    program = (
        "import ctypes, resource; from service_delivery.memory import keep_memory_private; keep_memory_private();"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["0", "0"]


def test_announced_key_takes_wraps_unserved(delivery: Delivery) -> None:
    old, new = delivery.world.delivery, Identity.generate()
    _, envelope, identity, _ = awarded(delivery)
    ready = delivery.restarted(new, old)
    delivery.announce(new)
    assert served(ready) == old.public_key
    assert {described(delivery)[key.public_key]["state"] for key in (old, new)} == {"current", "announced"}
    assert ready.wrap(1, envelope, identity, new).status_code == 201
    assert rewrap(delivery) == 1  # to the one that is current
    delivery.world.await_publication()
    delivery.world.finalize()
    assert served(ready) == new.public_key
    assert described(delivery)[old.public_key]["state"] == "retired"


def test_withdrawn_key_pauses_deliveries(
    delivery: Delivery,
) -> None:
    old, new, world = delivery.world.delivery, Identity.generate(), delivery.world
    bounty_id, envelope, identity, _ = awarded(delivery)
    assert delivery.wrap(1, envelope, identity).status_code == 201
    ready = delivery.restarted(new, old)
    delivery.withdraw(old)
    delivery.announce(new)
    for key in (old, new):
        assert refusal(ready.wrap(2, envelope, identity, key)) == (503, "delivery_unavailable")
    before = counted_failures()
    shown = ready.client.get("/api/deployment/delivery-key")
    assert refusal(shown) == (503, "delivery_unavailable")
    assert counted_failures() == before, "its owner withdrew it"
    assert int(shown.headers["Retry-After"]) <= world.hub.terms.publication_delay
    assert described(delivery)[old.public_key]["state"] == "withdrawn"
    assert (rewrap(delivery), exists(ready, bounty_id, envelope)) == (0, True)
    fresh, path = Identity.generate(), f"/api/bounties/{bounty_id}/delivery/retrieve"
    poster = world.people.poster.wallet
    assert ready.call(poster, path, {"poster_ephemeral_public_key": fresh.public_key}).status_code == 200
    world.await_publication()
    world.finalize()
    alone = delivery.restarted(old)
    assert refusal(alone.client.get("/api/deployment/delivery-key")) == (503, "delivery_unavailable")
    assert counted_failures() == before + 1, "the next one is in effect, and its private key is not here"
    assert refusal(alone.wrap(2, envelope, identity, old)) == (503, "delivery_unavailable")
    ready = delivery.restarted(new, old)
    assert served(ready) == new.public_key
    assert refusal(ready.wrap(2, envelope, identity, old)) == (400, "invalid_winning_solution_delivery")
    assert rewrap(delivery) == 1


def test_key_that_is_not_the_hubs_is_never_current(delivery: Delivery) -> None:
    mine, hub = Identity.generate(), Hub(delivery.world.rpc, delivery.world.hub_address)
    assert check_keys(hub, (delivery.world.delivery,)).endswith("is in effect on the Hub")
    with pytest.raises(SettingWrong, match="SERVICE_DELIVERY_PRIVATE_KEYS_FILE"):
        check_keys(hub, (mine,))
    other = delivery.restarted(mine)
    answer = other.client.get("/api/deployment/delivery-key")
    assert refusal(answer) == (503, "delivery_unavailable")
    assert {each["state"] for each in described(delivery).values()} == {"held"}
