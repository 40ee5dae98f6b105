"""A stretch ends before what is not shown, and has everything that was read up to there."""

from dataclasses import dataclass

import pytest
from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from service_indexer.source import RangeLogs
from service_indexer.stretch import read_stretch

from tests.fakes.chain import FakeChain, bounty_created

BLOCKS = 12
FINAL = 6


@dataclass
class HalfShown(FakeChain):
    """Blocks up to ``headers_until``, the logs of ranges up to ``ranges_until``, and none of block ``dumb``."""

    headers_until: int = BLOCKS
    ranges_until: int = BLOCKS
    dumb: int | None = None

    def headers_from(self, first: BlockNumber, last: BlockNumber) -> list[Header]:
        if first > self.headers_until:
            raise ChainUnavailable("no such block")
        return self.headers(first, BlockNumber(min(last, self.headers_until)))

    def logs_of_range(self, first: BlockNumber, last: BlockNumber) -> RangeLogs:
        listed = super().logs_of_range(first, BlockNumber(min(last, self.ranges_until)))
        return RangeLogs([log for log in listed.logs if log.block_number != self.dumb], listed.covered)

    def logs_of_block(self, header: Header) -> list[Log]:
        if header.number == self.dumb:
            raise ChainUnavailable("no logs of this block")
        return super().logs_of_block(header)


def half_shown(shown: dict[str, int]) -> HalfShown:
    """Blocks with a log each, of which a part is shown."""
    chain = HalfShown()
    for name, until in shown.items():
        setattr(chain, name, until)
    for number in range(1, BLOCKS + 1):
        chain.mine([bounty_created(number, number)])
    return chain


@pytest.mark.parametrize(
    ("shown", "end"),
    [
        ({}, BLOCKS),
        ({"headers_until": 9}, 9),
        ({"headers_until": 4}, 4),
        ({"ranges_until": 5}, 5),
        ({"ranges_until": 5, "headers_until": 3}, 3),
        ({"dumb": 10}, 9),
        ({"dumb": 4}, 3),
        ({"dumb": 10, "headers_until": 8}, 8),
    ],
    ids=str,
)
def test_stretch__of_which_a_part_is_shown__is_that_part(shown: dict[str, int], end: int) -> None:
    chain = half_shown(shown)
    stretch = read_stretch(chain, chain.headers_[0], BlockNumber(BLOCKS), BlockNumber(FINAL))
    assert stretch.headers == chain.headers_[1 : end + 1]
    assert stretch.logs == [log for header in stretch.headers for log in chain.logs_[header.hash]]


@pytest.mark.parametrize("shown", [{"headers_until": 0}, {"dumb": 1}], ids=str)
def test_stretch__whose_first_block_is_not_shown__is_none(shown: dict[str, int]) -> None:
    chain = half_shown(shown)
    with pytest.raises(ChainUnavailable):
        read_stretch(chain, chain.headers_[0], BlockNumber(BLOCKS), BlockNumber(FINAL))
