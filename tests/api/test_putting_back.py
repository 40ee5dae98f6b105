"""``service-api put-back``: what the database lost, or what was altered there, from anybody's copy."""

import io
import secrets
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from bounty_protocol.domain.commitments import report_commitment, spec_commitment
from bounty_protocol.types import to_bytes
from local_stack.services import MIGRATOR
from service_api.app import make_app
from service_api.main import main
from service_common.db import app as t
from service_common.db.engine import writing
from sqlalchemy import ColumnElement, Table, delete, update

from tests.api.conftest import Service
from tests.api.pages import JUDGING, page_for
from tests.api.test_submissions import Sealed, seal
from tests.api.test_written_verdicts import document, write

KINDS = ("page", "envelope", "verdict")


class Case:
    """A page, an envelope and a Verdict of one bounty, to which nobody can submit or judge any more."""

    def __init__(self, service: Service, folder: Path) -> None:
        world, guardian, solver = service.world, service.world.guardian(1), service.world.solver(1)
        page = page_for(world, title=f"Kept {secrets.token_hex(4)}", deadline=world.time() + 1_001)
        assert service.publish(page).status_code == 200
        self.service, self.bounty_id = service, world.create(page, seconds=1_000, judging=JUDGING)
        world.finalize()
        self.sealed: Sealed = seal(service, folder, self.bounty_id, solver)
        commitment = self.sealed.record()
        world.advance_to(world.reveal_at(self.bounty_id))
        world.finalize()
        verdict = document(service, self.bounty_id, guardian, (solver, commitment))
        assert write(service, guardian, verdict).status_code == 201
        names = [self.bounty_id, 1, solver.address, to_bytes(commitment), to_bytes(report_commitment(verdict))]
        world.contract.transact(guardian, "recordVerdict", *names)
        world.advance_to(world.judging_deadline(self.bounty_id))
        world.finalize()
        self.contents = {"page": page, "envelope": self.sealed.envelope.canonical_bytes(), "verdict": verdict}

    def row(self, kind: str) -> tuple[Table, ColumnElement[bool]]:
        table = {"page": t.challenge_pages, "envelope": t.submission_envelopes, "verdict": t.written_verdicts}[kind]
        return table, table.c.content == self.contents[kind]

    def lose(self, kind: str, *, altered: bool) -> None:
        table, its_row = self.row(kind)
        lost = update(table).values(content=b"other") if altered else delete(table)
        with writing(self.service.world.engine(MIGRATOR)) as connection:
            assert connection.execute(lost.where(its_row)).rowcount == 1

    def served(self, kind: str) -> bytes | None:
        """By a process that keeps nothing yet; None where it is not."""
        client = make_app(self.service.dependencies).test_client()
        if kind == "page":
            challenge = (client.get(f"/api/bounties/{self.bounty_id}").json or {})["challenge"]
            return None if challenge is None else str(challenge).encode()
        if kind == "verdict":
            answer = client.get(f"/api/written-verdicts/{report_commitment(self.contents[kind])}")
            return answer.data if answer.status_code == 200 else None
        answer = self.sealed.content(self.service.world.guardian(2).private_key)
        return answer.json["envelope"].encode() if answer.status_code == 200 and answer.json else None


def put_back(service: Service, content: bytes, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Why nothing was changed; None where something was."""
    monkeypatch.setenv("SERVICE_DATABASE_URL", service.world.database.url("service_api"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    try:
        assert main(["put-back"]) == 0
    except SystemExit as ended:
        return str(ended.code)
    return None


@pytest.mark.parametrize("altered", [True, False], ids=["altered", "lost"])
def test_document__that_its_author_can_send_no_more__is_put_back_by_the_operator(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, altered: bool
) -> None:
    case = Case(service, tmp_path)
    for kind in KINDS:
        content = case.contents[kind]
        assert case.served(kind) == content
        case.lose(kind, altered=altered)
        assert case.served(kind) is None
        assert put_back(service, content + b" ", monkeypatch) is not None
        assert case.served(kind) is None
        assert put_back(service, content, monkeypatch) is None
        assert case.served(kind) == content


@pytest.mark.attack
def test_document__whose_hash_a_stranger_recorded_as_of_another_kind__is_put_back(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, world = Case(service, tmp_path), service.world
    world.create(case.contents["envelope"])  # its hash is that of a bounty's page now, and of a Submission's envelope
    world.submit(world.create(), world.solver(2), spec_commitment(case.contents["page"]))
    world.submit(world.create(), world.solver(2), report_commitment(case.contents["verdict"]))
    world.finalize()
    for kind in KINDS:
        case.lose(kind, altered=True)
        assert put_back(service, case.contents[kind], monkeypatch) is None
        assert case.served(kind) == case.contents[kind]


def test_bytes__that_the_chain_names_and_that_are_no_page__change_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    junk = f"no page {secrets.token_hex(4)}".encode()
    service.world.create(junk)
    service.world.finalize()
    assert "nothing was changed" in str(put_back(service, junk, monkeypatch))


def test_put_back__with_another_services_role__ends_with_one_sentence(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Case(service, tmp_path).contents["page"]
    monkeypatch.setenv("SERVICE_DATABASE_URL", service.world.database.url("service_indexer"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(page)))
    assert main(["put-back"]) == 1
    assert "the database refused this: permission denied" in capsys.readouterr().err
