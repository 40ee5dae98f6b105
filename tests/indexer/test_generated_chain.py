"""The chain that the large index is made of is one that a Hub could have: benchmarks of it are of a real index."""

from bounty_protocol.chain.events import decode_log
from bounty_protocol.domain.bounty import Bounty, term_differences
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import log_digest, spec_commitment
from bounty_protocol.domain.hub_events import EVENT_CLASSES
from bounty_protocol.domain.record import derive_record, supports
from bounty_protocol.domain.roster import Roster
from bounty_protocol.types import BlockNumber, BountyId, to_bytes
from service_api.bounties.bounty_pages import IndexedBounty, read_bounty_page
from service_common.db import hub_index as t
from service_common.db.engine import reading
from service_common.db.hub_facts import require_pinned
from service_common.db.hub_reads import read_bounty_logs, read_latest_verdicts, read_totals
from sqlalchemy import Connection, func, select

from bench.generated.bounties import CHAIN, HUB, Population
from bench.generated.chain import GeneratedChain
from bench.generated.copying import copy_chain
from tests.servers import Database

POPULATION = Population(bounties=75, life=50)
FINAL = range(1, POPULATION.bounties - POPULATION.life + 1)
NOT_GENERATED = {"Deployed", "DeliveryKeyWithdrawn", "OwnershipTransferred", "OwnershipTransferStarted"}


def test_logs__of_every_block__decode_to_the_events_that_were_encoded() -> None:
    chain, seen = GeneratedChain(POPULATION), set()
    for number in range(chain.last + 1):
        events = list(chain.events(BlockNumber(number)))
        assert [decode_log(log) for log in chain.logs(BlockNumber(number), BlockNumber(number)).logs] == events
        seen |= {type(event).__name__ for event in events}
    assert seen == set(EVENT_CLASSES) - NOT_GENERATED


def test_copy__by_the_indexer__is_of_bounties_that_a_hub_would_have(database: Database) -> None:
    copied = copy_chain(database, POPULATION)
    with reading(database.engine("service_api")) as connection:
        assert connection.execute(select(func.count()).select_from(t.logs)).scalar_one() == copied.whole.events
        pages = [_page(connection, number) for number in range(1, POPULATION.bounties + 1)]
        totals = read_totals(connection)
        assert (totals.bounties, totals.final) == (len(pages), len(FINAL))
        assert totals.escrowed == sum(page.bounty.terms.escrow_amount for page in pages)
        for page in pages:
            roster = require_pinned(page.bounty, page.roster)
            roster.verify(CHAIN, HUB)
            _check_page(page)
            assert (page.bounty.finalized is not None) is (page.bounty.bounty_id in FINAL)
            _check_ending(connection, page.bounty, roster)


def _page(connection: Connection, number: int) -> IndexedBounty:
    _, page = read_bounty_page(connection, CHAIN, BountyId(number))
    assert page is not None
    return page


def _check_page(page: IndexedBounty) -> None:
    """What was published is what was committed to, and states the terms that are on chain."""
    assert page.challenge is not None
    assert spec_commitment(page.challenge) == page.bounty.terms.spec_commitment
    assert not list(term_differences(parse_challenge(page.challenge), page.bounty.terms))


def _check_ending(connection: Connection, bounty: Bounty, roster: Roster) -> None:
    """The last Verdict made the quorum, and the whole escrow is due to somebody."""
    if bounty.finalized is None:
        return
    ending = bounty.finalized.event
    verdicts = [each.event for each in read_latest_verdicts(connection, bounty.bounty_id)]
    assert sum(supports(verdict, ending) for verdict in verdicts) == roster.quorum
    assert ending.guardian_fee_count == len(verdicts)
    logs = read_bounty_logs(connection, bounty.bounty_id, bounty.finalized.origin)
    digest = log_digest(([to_bytes(topic) for topic in topics], data) for topics, data in logs)
    record = derive_record(CHAIN, HUB, bounty, roster, verdicts, digest)
    paid = [ending.award, ending.refund, ending.protocol_fee, *[ending.guardian_fee_each] * len(verdicts)]
    assert sorted(filter(None, paid)) == sorted(due.amount for due in record.amounts)
    assert sum(paid) == bounty.terms.escrow_amount
