"""Three bounties that ended, as chain and service tell of them: awarded, refunded after judgement, settled in silence.

The lives are played by the client against the API twin; the public detail is the api's own, over the real index.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId
from service_api.bounties.show_bounty import show_bounty
from service_cli.audit.history import BountyHistory, ServiceEvidence
from service_cli.audit.report import Report
from service_cli.audit.run import check
from service_common.db import app as tables
from service_common.db.hub_facts import FactSource
from service_common.recent import Recent
from service_indexer.chain import RpcChain
from service_indexer.follower import Follower
from service_indexer.writer import Writer
from sqlalchemy import Engine, insert

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import Reply, Request, RpcProxy
from tests.cli.terminal import Ran, events_of
from tests.servers import Database
from tests.world import ChainClock

if TYPE_CHECKING:
    from service_api.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class Audited:
    """What a service holds of three bounties, told truthfully."""

    awarded: str
    refunded: str
    silent: str
    solver: str
    commitment: str
    details: dict[str, bytes]
    verdicts: dict[str, bytes]
    envelopes: dict[str, bytes]
    read: Callable[[], dict[str, bytes]]

    def refresh(self) -> None:
        """Say what is true now: the Guardians' last signs of life move with whatever else they do."""
        self.details.update(self.read())

    def serve(self, api: ApiTwin) -> None:
        """Have a twin answer with it."""
        self.refresh()
        api.verdicts |= self.verdicts
        api.envelopes |= self.envelopes
        api.scripts["detail"] = self.detail
        api.scripts["verdict_read"] = lambda request: self._missing(request, self.verdicts)

    def detail(self, request: Request) -> Reply:
        """The public detail, byte for byte."""
        content = self.details.get(request.path.rpartition("/")[2])
        return (200, content, {}) if content else refusal(404, "bounty_not_found", "There is no such bounty.")

    @staticmethod
    def _missing(request: Request, held: dict[str, bytes]) -> Reply | None:
        name = request.path.rpartition("/")[2]
        return None if name in held else refusal(404, "written_verdict_not_found", "None with that commitment.")


@dataclass(frozen=True, slots=True)
class Reading:
    """What the api's use case needs."""

    engine: Engine
    facts: FactSource
    records: Recent[Any, bool]


@contextmanager
def played(ledger: Ledger, database: Database, folder: Path) -> Iterator[Audited]:
    """Play the three lives, index them, and keep what the service says."""
    api, rpc = ApiTwin(ledger), RpcProxy(ledger.node.url)
    people = {
        name: person(ledger, api, rpc, folder / name, name)
        for name in ("solver-1", "guardian-1", "guardian-2", "guardian-3")
    }
    try:
        pages = [ledger.page(seconds=3_000, judging=5_000) for _ in range(3)]
        ids = [str(ledger.fund(page, judging=5_000)[0]) for page in pages]
        (folder / "work").mkdir()
        (folder / "work" / "main.py").write_bytes(b"print(1)\n")
        for page, bounty in zip(pages, ids, strict=True):
            api.keep_page(page)
            ran = people["solver-1"].run("solver:submit", bounty, str(folder / "work"))
            if bounty == ids[0]:
                recorded = ran.event("submit.submission_recorded")
        awarded, refunded, silent = ids
        pair = (str(recorded["solver"]), str(recorded["submission_commitment"]))
        ledger.submit(int(awarded), ledger.people.solvers[1].wallet)
        ledger.reveal(int(silent))
        body = str(folder / "reasons.md")
        Path(body).write_text("As the criteria say.\n")
        people["guardian-1"].run("guardian:verdict", awarded, "no_valid_submission", "--unopened", body)
        people["guardian-1"].run("guardian:verdict", awarded, "awarded", *pair, "--unopened", "--replace", body)
        people["guardian-2"].run("guardian:verdict", awarded, "awarded", *pair, "--unopened", body)
        people["guardian-2"].run("guardian:verdict", refunded, "no_valid_submission", "--unopened", body)
        people["guardian-3"].run("guardian:verdict", refunded, "no_valid_submission", "--unopened", body)
        people["solver-1"].run(
            "claim", awarded, SERVICE_CLAIMANT_PRIVATE_KEY=ledger.people.solvers[0].wallet.private_key
        )
        ledger.advance_to(int(ledger.contract.call("getBounty", int(silent))[5]))
        poster = ledger.people.poster.wallet
        poster.forget_nonce()
        ledger.contract.transact(poster, "settle", int(silent))
        ledger.contract.transact(poster, "claimRefund", int(silent))
        ledger.node.mine(3)
        _store(database, pages)

        def read() -> dict[str, bytes]:
            return _details(ledger, database, ids)

        yield Audited(awarded, refunded, silent, *pair, read(), dict(api.verdicts), dict(api.envelopes), read)
    finally:
        api.close()
        rpc.close()


def _store(database: Database, pages: list[bytes]) -> None:
    with database.engine("service_api").begin() as connection:
        rows = [{"spec_commitment": spec_commitment(page), "content": page} for page in pages]
        connection.execute(insert(tables.challenge_pages), rows)


def _details(ledger: Ledger, database: Database, ids: list[str]) -> dict[str, bytes]:
    rpc, hub = Rpc([ledger.node.url]), Address(ledger.contract.address)
    chain_id = ChainId(ledger.node.chain_id)
    writer = Writer(database.engine("service_indexer"), chain_id, hub)
    follower = Follower(RpcChain(rpc, hub), writer, BlockNumber(0))
    while follower.step():
        pass
    engine = database.engine("service_api")
    clock = ChainClock(rpc)
    reading = cast("Dependencies", Reading(engine, FactSource(engine, chain_id, hub, clock), Recent(30.0, 64, clock)))
    return {bounty: json.dumps(to_json(show_bounty(reading, BountyId(int(bounty))).value)).encode() for bounty in ids}


def results(ran: Ran, result: str) -> set[str]:
    """The checks that ended this way."""
    return {str(event["check"]) for event in ran.events if event.get("result") == result}


def evidence(audited: Audited, bounty: str, detail: object) -> ServiceEvidence:
    """What the service says, the detail as given."""
    story_active = tuple(
        member["last_active_at"] or 0 for member in json.loads(audited.details[bounty])["guardian_roster"]["members"]
    )
    return ServiceEvidence(
        detail=json.dumps(detail).encode(),
        active_until=story_active,
        verdicts={Bytes32(name): content for name, content in audited.verdicts.items()},
        envelopes={Bytes32(name): content for name, content in audited.envelopes.items()},
    )


def differences(history: BountyHistory, service: ServiceEvidence, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Every path at which an audit finds a difference."""
    capsys.readouterr()
    check(history, service, Report())
    found = events_of(capsys.readouterr().out)
    rows = [row for event in found for row in event["differences"]]  # type: ignore[attr-defined]
    return {str(row["path"]) for row in rows}
