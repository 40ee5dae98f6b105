"""The chain that the large index is made of is one that a Hub could have: benchmarks of it are of a real index."""

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import decode_log
from bounty_protocol.domain.bounty import Bounty, term_differences
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import log_digest, spec_commitment
from bounty_protocol.domain.hub_events import EVENT_CLASSES
from bounty_protocol.domain.record import derive_record, supports
from bounty_protocol.domain.roster import Roster
from bounty_protocol.types import BlockNumber, BountyId, to_bytes
from service_api.bounty_pages import IndexedBounty, read_bounty_page
from service_common.db import hub_index as t
from service_common.db.engine import reading
from service_common.db.hub_facts import require_pinned
from service_common.db.hub_reads import read_bounty_logs, read_latest_verdicts, read_totals
from service_indexer.stretch import check_links, read_stretch
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
    headers = chain.headers(BlockNumber(0), chain.last)
    check_links(headers)
    for header in headers:
        events = list(chain.events(header.number))
        assert [decode_log(log) for log in chain.logs_of_block(header)] == events
        seen |= {type(event).__name__ for event in events}
    assert seen == set(EVENT_CLASSES) - NOT_GENERATED


def test_range__of_many_logs__ends_with_a_whole_block_and_goes_on_after_it() -> None:
    chain = GeneratedChain(POPULATION)
    part = chain.logs_of_range(BlockNumber(0), chain.last)
    rest = chain.logs_of_range(BlockNumber(part.covered + 1), chain.last)
    assert part.covered < rest.covered == chain.last
    every = [log for header in chain.headers(BlockNumber(0), chain.last) for log in chain.logs_of_block(header)]
    assert part.logs + rest.logs == every


class _Noting(GeneratedChain):
    """Counts the headers that were requested."""

    requested = 0

    def headers(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        self.requested += last - first + 1
        return super().headers(first, last)


def test_stretch__that_ends_with_many_logs__reads_no_headers_above_its_end() -> None:
    chain = _Noting(Population(bounties=400, life=50))
    (parent,) = chain.headers(BlockNumber(0), BlockNumber(0))
    stretch = read_stretch(chain, parent, BlockNumber(250), chain.last)
    assert 0 < len(stretch.headers) == chain.requested - 1 < 250
    assert stretch.logs[-1].block_number == stretch.headers[-1].number


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
