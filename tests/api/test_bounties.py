"""Public reads of bounties."""

import base64

import pytest
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.wire.cursor import parse_cursor
from service_common.db import app as t
from service_common.db.engine import writing
from sqlalchemy import delete, update

from tests.api.conftest import Service
from tests.api.pages import JUDGING, page_for


@pytest.mark.spec(41, 42, 43, 44, 52, 92, 111, 114, 125, 328)
def test_detail_shows_everything_the_chain_says(service: Service) -> None:
    world = service.world
    page = page_for(world, title="Shown whole")
    assert service.publish(page).status_code == 200
    deadline = int(next(line for line in page.decode().splitlines() if "submission_deadline" in line).split()[1])
    bounty_id = world.fund(page, seconds=deadline - world.time() - 1, judging=JUDGING)
    commitment = world.submit(bounty_id, world.solver(1))
    world.finalize()
    detail = service.get(f"/api/bounties/{bounty_id}").json
    assert detail is not None
    assert detail["challenge"] == page.decode()
    assert detail["facts"]["spec_commitment"] == spec_commitment(page)
    assert detail["facts"]["status"] == "open"
    assert detail["facts"]["accepting"] is True
    assert detail["facts"]["judgeable"] is False
    assert detail["facts"]["escrow_amount"] == "25000000"
    assert detail["facts"]["winner"] is None
    assert detail["guardian_roster"]["guardian_roster_hash"] == detail["facts"]["guardian_roster_hash"]
    assert [s["submission_commitment"] for s in detail["active_submissions"]] == [commitment]
    assert detail["active_submission_count"] == 1
    assert detail["finality"] == "finalized"
    assert "verification_record" not in detail
    assert "verification_record_error" not in detail
    assert "error" not in detail
    differing = {entry["field"] for entry in detail["challenge_terms"]["differences"]}
    assert differing <= {"submission_deadline"}


@pytest.mark.spec(45, 46, 367, 379)
def test_altered_challenge_is_null_with_the_error(service: Service) -> None:
    world = service.world
    page = page_for(world, title="Altered later")
    assert service.publish(page).status_code == 200
    bounty_id = world.fund(page)
    world.finalize()
    engine = service.resources.engine
    for tamper in (update(t.challenge_pages).values(content=b"other"), delete(t.challenge_pages)):
        with writing(engine) as connection:
            connection.execute(tamper)
        response = service.get(f"/api/bounties/{bounty_id}")
        assert response.status_code == 200
        assert response.json is not None
        assert response.json["challenge"] is None
        assert response.json["error"]["code"] == "bounty_challenge_content_mismatch"


@pytest.mark.spec(21, 47, 48, 49, 73, 74, 75, 79, 93, 332)
def test_ended_bounty_has_record_or_reason(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    commitment = world.submit(bounty_id, world.solver(1))
    world.decide(bounty_id, world.solver(1), commitment)
    world.index()
    early = service.get(f"/api/bounties/{bounty_id}").json
    assert early is not None
    assert early["facts"]["status"] == "final"
    assert early["verification_record_error"]["code"] == "not_finalized"
    assert "verification_record" not in early
    world.finalize()
    late = service.get(f"/api/bounties/{bounty_id}").json
    assert late is not None
    assert "verification_record_error" not in late
    record = late["verification_record"]
    assert record["winner"] == {"solver_address": world.solver(1).address, "submission_commitment": commitment}
    assert sum(int(amount["amount"]) for amount in record["amounts"]) == 25_000_000
    assert [v["supported_result"] for v in record["verdicts"]].count(True) == 2
    world.contract.transact(world.solver(1), "claim", bounty_id, b"", b"")
    world.finalize()
    again = service.get(f"/api/bounties/{bounty_id}").json
    assert again is not None
    assert again["verification_record"] == record


@pytest.mark.spec(111, 327)
def test_list_shows_each_bounty_once(service: Service) -> None:
    world = service.world
    ids = [world.fund() for _ in range(5)]
    solver = f"/api/bounties?solver_address={world.solver(3).address}"
    world.finalize()
    former = service.get(solver).json
    assert former is not None
    world.submit(ids[0], world.solver(3))
    world.finalize()
    seen, cursor = [], ""
    while True:
        page = service.get(f"/api/bounties?limit=2{cursor}").json
        assert page is not None
        seen += [item["bounty_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert len(seen) == len(set(seen))
    assert {str(i) for i in ids} <= set(seen)
    by_solver = service.get(solver).json
    assert by_solver is not None
    now, before = ({item["bounty_id"] for item in found["items"]} for found in (by_solver, former))
    assert now - before == {str(ids[0])}
    none = service.get("/api/bounties?poster_address=0x" + "11" * 20).json
    assert none is not None
    assert none["items"] == []
    for item in (service.get("/api/bounties?judgeable=true").json or {})["items"]:
        assert item["facts"]["judgeable"] is True


def _cursor(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        *map(_cursor, ["[0,5]", "[0, 5] ", "[0, 5.0]", "[0.0, 5]", "[false, 5]", "[0, true]", "[2, 5]", "[0, 0]"]),
        *map(_cursor, ["[0, 9223372036854775808]", "[" * 60_000, "[0]", "[0, 5, 6]", "5"]),
        _cursor("[0, " + "9" * 5_000 + "]"),
        *map(_cursor, ['["newest", 0, 5]', '["award", -1, 5]', '["size", 0, 5]', '["award", "0", 5]', '[[], 0, 5]']),
        *map(_cursor, ["[0, 5, -1]", "[0, 5, null]", "[0, 5, 9223372036854775808]", "[]", '["award", 1, 5, true]']),
        _cursor(f'["award", {2**256}, 5]'),
        *(f"{_cursor('[0, 5]')}{more}" for more in ("=", "==", "!", "\n", "\u00e9")),
        f"!{_cursor('[0, 5]')}", "",
    ],
)  # fmt: skip
def test_cursor__that_was_never_issued__is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="next_cursor"):
        parse_cursor(text)


def test_deployment__describes_the_hub_it_serves(service: Service) -> None:
    shown = service.get("/api/deployment").json
    assert shown is not None
    assert shown["hub_address"] == service.world.hub_address
    assert shown["escrow_token"] == {"address": service.world.hub.token.address, "symbol": "tUSDC", "decimals": 6}
    assert shown["fee_policy"]["protocol_fee_bps"] == 100
    assert shown["reveal_delay_seconds"] == 60
    assert shown["freshness_window_seconds"] == 300
    with service.resources.facts.open() as facts:
        assert shown["block_time_seconds"] == facts.head.seconds_per_block
    assert shown["beacon"]["chain_hash"] == service.beacon.chain_hash
