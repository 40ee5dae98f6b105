"""What the operator withholds: nowhere shown, everywhere visibly, and no fact of the chain is another for it."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.types import BountyId, Bytes32
from local_stack.contract import Wallet
from local_stack.services import MIGRATOR
from service_api.app import make_app
from service_api.main import main
from service_common.db import app as t
from service_common.db.engine import reading, writing
from sqlalchemy import delete, func, select, text, update

from tests.api.conftest import Service, error_of
from tests.api.pages import JUDGING, page_for
from tests.api.test_written_verdicts import document, write

REASON = "An order of a court, number 12/34"
TEXTS = {"challenge", "error", "withheld", "title", "summary", "tags", "withheld_reason", "withheld_since"}
"""All in which an answer with a withheld text differs from the one before."""


@dataclass
class Case:
    """A bounty with a page and a written Verdict, and the command of the operator."""

    service: Service
    bounty_id: BountyId
    page: bytes
    verdict: bytes
    word: str
    """In its title, and a tag of it."""
    monkeypatch: pytest.MonkeyPatch

    @property
    def commitment(self) -> Bytes32:
        return report_commitment(self.verdict)

    @property
    def poster(self) -> str:
        return self.service.world.people.poster.address

    def run(self, *arguments: str) -> int:
        """The exit code of a command; 1 with a message is a refusal."""
        database = self.service.world.database
        self.monkeypatch.setenv("SERVICE_DATABASE_URL", database.url("service_api"))
        try:
            return main(arguments)
        except SystemExit as ended:
            self.refusal = str(ended.code)
            return 1

    def withhold(self, kind: str, subject: object, *more: str) -> None:
        assert self.run("withhold", kind, str(subject), "--reason", REASON, *more) == 0

    def get(self, path: str) -> Any:
        """Without what a process keeps for a moment: each call is a new process's."""
        return make_app(self.service.resources).test_client().get(path)

    def listed(self, query: str) -> dict[str, Any]:
        found = self.get(f"/api/bounties?{query}").json["items"]
        return {each["bounty_id"]: each for each in found}

    def graphql(self) -> dict[str, Any]:
        fields = "bounty_id title summary tags withheld_reason withheld_since escrow_amount spec_commitment status"
        query = f'{{ bounty(id: "{self.bounty_id}") {{ {fields} verdicts {{ kind report_commitment }} }} }}'
        client = make_app(self.service.resources).test_client()
        found = client.post("/subgraph", json={"query": query}).json
        assert found is not None
        answer: dict[str, Any] = found["data"]["bounty"]
        return answer


@pytest.fixture
def case(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    world, word = service.world, f"quetzal{secrets.token_hex(4)}"
    page = page_for(world, title=f"On {word} alone", deadline=world.time() + 1_001)
    page = page.replace(b"\ntitle: ", f"\ntags: [{word}]\ntitle: ".encode())
    assert service.publish(page).status_code == 200
    bounty_id = world.fund(page, seconds=1_000, judging=JUDGING)
    submitted = world.submit(bounty_id, world.solver(1))
    world.advance_to(world.reveal_at(bounty_id))
    world.finalize()
    verdict = document(service, bounty_id, world.guardian(1), (world.solver(1), submitted))
    assert write(service, world.guardian(1), verdict).status_code == 201
    yield Case(service, bounty_id, page, verdict, word, monkeypatch)
    with writing(world.engine(MIGRATOR)) as connection:
        connection.execute(delete(t.withholdings))


def without_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_texts(each) for name, each in value.items() if name not in TEXTS}
    return [without_texts(each) for each in value] if isinstance(value, list) else value


def test_withheld_page_is_nowhere_and_said_so(case: Case) -> None:
    case.withhold("bounty", case.bounty_id, "--until", "2999-01-31")
    detail = case.get(f"/api/bounties/{case.bounty_id}").json
    assert (detail["challenge"], detail["error"]["code"]) == (None, "bounty_challenge_withheld")
    assert REASON in detail["error"]["message"]
    withheld = detail["withheld"]
    assert (withheld["reason"], withheld["until"]) == (REASON, 32474736000)
    assert detail["challenge_terms"] is not None
    item = case.listed("limit=100")[str(case.bounty_id)]
    assert (item["title"], item["summary"], item["tags"], item["withheld"]) == (None, None, [], withheld)
    for query in (f"search={case.word}", f"search={case.word[2:12]}", f"tag={case.word}"):
        assert str(case.bounty_id) not in case.listed(query)
        assert case.get(f"/api/bounties?{query}").json["total_count"] == 0
    row = case.graphql()
    assert (row["title"], row["summary"], row["tags"]) == (None, None, None)
    assert (row["withheld_reason"], row["withheld_since"]) == (REASON, withheld["since"])
    (shown,) = case.get("/api/withheld").json["items"]
    assert (shown["kind"], shown["bounty_id"]) == ("bounty", str(case.bounty_id))
    assert (shown["spec_commitment"], shown["account_address"]) == (spec_commitment(case.page), None)


@pytest.mark.parametrize("kind", ["bounty", "account"])
def test_facts_of_a_withheld_text_are_the_same(case: Case, kind: str) -> None:
    def answers() -> list[Any]:
        paths = (
            f"/api/bounties/{case.bounty_id}",
            "/api/bounties?limit=100",
            "/api/changes?limit=500",
            f"/api/accounts/{case.poster}",
            f"/api/bounties/{case.bounty_id}/delivery/status?submission_commitment={'0x' + '11' * 32}",
        )
        found = [case.get(path).json for path in paths]
        return [*found[:4], case.graphql()]

    before = answers()
    case.withhold(kind, case.bounty_id if kind == "bounty" else case.poster)
    after = answers()
    assert before != after
    assert without_texts(before) == without_texts(after)
    assert before[2:4] == after[2:4]


def test_same_bytes_elsewhere_are_withheld_too(case: Case) -> None:
    world = case.service.world
    again = world.fund(case.page, poster=world.solver(2))
    other = page_for(world, title="Another one")
    assert case.service.publish(other).status_code == 200
    beside = world.fund(other)
    world.finalize()
    case.withhold("bounty", case.bounty_id)
    assert case.get(f"/api/bounties/{again}").json["error"]["code"] == "bounty_challenge_withheld"
    assert case.get(f"/api/bounties/{beside}").json["challenge"] == other.decode()


def test_withheld_account_is_all_its_texts(case: Case) -> None:
    world = case.service.world
    again = world.fund(case.page, poster=world.solver(2))
    world.finalize()
    path = f"/api/written-verdicts/{case.commitment}"
    case.withhold("account", case.poster)
    assert case.get(f"/api/bounties/{case.bounty_id}").json["challenge"] is None
    assert case.get(f"/api/bounties/{again}").json["challenge"] == case.page.decode()
    assert set(case.listed(f"search={case.word}")) == {str(again)}
    assert case.get(path).status_code == 200
    case.withhold("account", world.guardian(1).address)
    assert case.get(path).status_code == 451


def test_withheld_verdict_is_451_with_its_reason(case: Case) -> None:
    path = f"/api/written-verdicts/{case.commitment}"
    kept = case.get(path)
    assert (kept.status_code, kept.headers["Cache-Control"]) == (200, "public, max-age=60")
    case.withhold("verdict", case.commitment)
    client = make_app(case.service.resources).test_client()
    refused = client.get(path, headers={"If-None-Match": kept.headers["ETag"]})
    assert (refused.status_code, error_of(refused)["code"]) == (451, "written_verdict_withheld")
    assert REASON in str(error_of(refused)["message"])
    assert case.verdict not in refused.data
    assert write(case.service, case.service.world.guardian(1), case.verdict).status_code == 200
    assert case.get(path).status_code == 451


def test_time__that_is_reached__shows_the_text_again(case: Case) -> None:
    case.withhold("bounty", case.bounty_id, "--until", "2999-01-31T12:00Z")
    with writing(case.service.resources.engine) as connection:
        connection.execute(update(t.withholdings).values(until=func.now() - text("interval '1 second'")))
    assert case.get(f"/api/bounties/{case.bounty_id}").json["challenge"] == case.page.decode()
    assert "withheld" not in case.get(f"/api/bounties/{case.bounty_id}").json
    assert case.get("/api/withheld").json["items"] == []
    assert case.run("show-again", "bounty", str(case.bounty_id)) == 1
    case.withhold("bounty", case.bounty_id)
    assert case.get(f"/api/bounties/{case.bounty_id}").json["challenge"] is None


def test_decision_is_replaced_and_ended_and_stays(case: Case, capsys: Any) -> None:
    case.withhold("bounty", case.bounty_id)
    logged = capsys.readouterr().err
    assert "text is withheld" in logged
    assert REASON in logged
    (first,) = case.get("/api/withheld").json["items"]
    changed = ("--reason", "Another reason", "--until", "2999-01-01")
    assert case.run("withhold", "bounty", str(case.bounty_id), *changed) == 0
    (second,) = case.get("/api/withheld").json["items"]
    assert (second["reason"], second["since"]) == ("Another reason", first["since"])
    assert second["number"] > first["number"]
    assert case.run("show-again", "bounty", str(case.bounty_id)) == 0
    assert case.get(f"/api/bounties/{case.bounty_id}").json["challenge"] == case.page.decode()
    assert set(case.listed(f"search={case.word}")) == {str(case.bounty_id)}
    with reading(case.service.resources.engine) as connection:
        rows = connection.execute(select(t.withholdings).order_by(t.withholdings.c.number)).all()
    assert [(row.reason, row.ended_at is None) for row in rows] == [(REASON, False), ("Another reason", False)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bounty", "999999"), "no bounty 999999"),
        (("bounty", "x"), "must be"),
        (("verdict", "0x" + "11" * 32), "no Verdict"),
        (("account", "0x" + "5e1f" * 10), "has posted no bounty"),
        (("page", "1"), "one of bounty, verdict, account"),
        (("bounty", "1", "--until", "tomorrow"), "--until a date"),
        (("bounty", "1", "--until", "2001-01-01"), "in the past"),
        (("bounty", "1", "--reason", " "), "--reason must have"),
        (("bounty", "1", "--reason", "a" * 501), "--reason must have"),
    ],
)
def test_decision_that_cannot_be_taken_changes_nothing(case: Case, arguments: tuple[str, ...], message: str) -> None:
    assert case.run("withhold", "--reason", "x", *arguments) == 1
    assert message in case.refusal
    assert case.get("/api/withheld").json["items"] == []


def test_parties_alone_read_the_withheld_bytes(case: Case) -> None:
    world = case.service.world
    case.withhold("bounty", case.bounty_id)
    case.withhold("verdict", case.commitment)
    paths = {
        f"/api/bounties/{case.bounty_id}/challenge": case.page,
        f"/api/written-verdicts/{case.commitment}/document": case.verdict,
    }
    for path, content in paths.items():
        for account in (world.people.poster.wallet, world.solver(1), world.guardian(1), world.guardian(2)):
            response = case.service.signed(account.private_key, "GET", path)
            assert (response.status_code, response.data) == (200, content)
            assert response.headers["Cache-Control"] == "no-store"
        refused = case.service.signed(world.solver(2).private_key, "GET", path)
        assert (refused.status_code, error_of(refused)["code"]) == (403, "forbidden")
        assert case.get(path).status_code == 401
    nothing = case.service.signed(
        world.guardian(1).private_key, "GET", f"/api/written-verdicts/{'0x' + '22' * 32}/document"
    )
    assert error_of(nothing)["code"] == "written_verdict_not_found"


def test_later_party_does_not_read_them(case: Case) -> None:
    world, service = case.service.world, case.service
    page = page_for(world, title="Once more", deadline=world.time() + 1_001)
    assert service.publish(page).status_code == 200
    bounty_id = world.fund(page, seconds=1_000, judging=JUDGING)
    world.submit(bounty_id, world.solver(1))
    world.finalize()
    case.withhold("bounty", bounty_id)
    world.submit(bounty_id, world.solver(1))  # replaced, and was a party before
    world.submit(bounty_id, world.solver(2))
    copied = world.fund(page, seconds=1_000, judging=JUDGING)
    world.finalize()

    def status(account: Wallet, of: BountyId) -> int:
        return service.signed(account.private_key, "GET", f"/api/bounties/{of}/challenge").status_code

    poster = world.people.poster.wallet
    assert [status(world.solver(1), bounty_id), status(world.solver(2), bounty_id)] == [200, 403]
    assert [status(poster, bounty_id), status(poster, copied), status(world.guardian(1), copied)] == [200, 403, 200]
    case.withhold("bounty", bounty_id, "--until", "2999-01-01")  # the same text, withheld since the first decision
    assert status(world.solver(2), bounty_id) == 403
    assert case.run("show-again", "bounty", str(bounty_id)) == 0
    case.withhold("account", poster.address)
    assert [status(world.solver(2), bounty_id), status(poster, copied)] == [200, 200]
    later = world.fund(page, seconds=1_000, judging=JUDGING)
    world.submit(later, world.solver(2))
    world.finalize()
    assert [status(world.solver(2), later), status(poster, later), status(world.guardian(1), later)] == [403, 200, 200]


def test_list__is_paged_and_names_where_to_report(case: Case) -> None:
    case.withhold("bounty", case.bounty_id)
    case.withhold("verdict", case.commitment)
    case.withhold("account", case.poster)
    config = replace(case.service.resources.config, report_address="mailto:report@bounties.example")
    client = make_app(replace(case.service.resources, config=config)).test_client()
    kinds, after = [], 0
    for _ in range(2):
        answer = client.get(f"/api/withheld?limit=2&after={after}")
        assert answer.json is not None
        kinds += [each["kind"] for each in answer.json["items"]]
        after = answer.json["next_after"]
        assert answer.json["report_address"] == "mailto:report@bounties.example"
        assert answer.json["has_more"] is ("Link" in answer.headers)
    assert kinds == ["bounty", "verdict", "account"]
    assert client.get("/api/withheld?limit=0").status_code == 400
    assert client.get(f"/api/withheld?after={2**63}").status_code == 400
