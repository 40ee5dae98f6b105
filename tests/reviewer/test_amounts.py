"""Which numbers of a page are amounts of money: a table of ordinary titles and sentences. The escrow is 25 tUSDC."""

import json
import re

import pytest
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.reading import Reading
from bounty_protocol.readiness.terms import PAYMENT
from bounty_protocol.types import UnixSeconds
from demo.examples import EXAMPLES

EXAMPLE = (EXAMPLES / "bounty_challenge.md").read_text(encoding="utf-8")
NOW = UnixSeconds(1_795_000_000)

NO_AMOUNT = """
Bounty 1795435322
Bounty no. 1234567: parse timestamps
Bounty 2026-11-24/3
Port the bounty board of 2026 to Python 3.13
A bounty for RFC 9457 problem documents
Prize draw 20270101: a page that explains the rules
Prize 4815162342
Escrow contract 0x833589fcd6edb6e08f4c7c32d4f71b54bda02913
Fix issue 1234567 of the bounty board
The bounty with id 10023456 is not affected.
The bounty at block 21000000 was the first one.
The award became final at 1795435322.
The escrow is refunded after 1795435322 seconds since 1970.
The bounty is open until 20270131.
Awards are listed in file 20270131.csv.
The escrow module handles 1000000 requests a day.
The bounty index reads 10000000 rows in a second.
The prize page was read 1,250,000 times.
Each bounty stores 1048576 bytes at most.
The reward counter overflows at 4294967296.
The bounty's chain id is 11155111.
The award is versioned as 20261124.
Release 20261124 of the bounty tool is the base.
Python 3.11.7 runs the prize draw.
Call +41 44 1234567 about the prize draw.
The escrow account is IBAN CH9300762011623852957.
The prize goes to the fastest program for n = 10000000.
The award depends on seed 123456789.
The bounty needs port 8545 and block 12345678.
The reward is described in commit 9fceb02d0ae598e95dc970b74767f19372d61af8.
The reward's hash is 5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9.
The bounty's book has ISBN 9783161484100.
The prize text has DOI 10.1000/182.
The award is filed as patent 10123456.
The escrow's invoice 20261124 is attached to nothing.
The bounty covers the years 1999 to 2026.
In 2027 the reward programme ends.
The prize programme of 2025 had 1200 entries.
The bounty has 3 parts and 12 criteria.
The payout takes 600 seconds.
The winner is known after 1000000 steps.
The winner of bounty 12345678 is not excluded.
The bounty board shows at most 100000 bounties.
The reward service answers 99.99 % of requests.
The bounty's line 1234567 is wrong.
Escrow address checks read 160 bits.
The prize number 23456789 is prime.
A prize for the factors of 1234567890123
Bounty: sort 10000000 integers in a second
Reward a parser that reads 1000000 lines a second
Hosting costs us $40 a month.
An engineer earns 80 USD an hour.
The price in the sample is 1,200 USD.
The test account holds 1000000 USDC.
The tool converts 30 USDC to 27 EUR.
The bounty's sample file names an invoice number 1234567.
The prize is 25000000, as the frontmatter says.
The escrow of 25000000 pays the award.
The reward is 25 tUSDC.
The winner receives 25 USDC before the fees.
The winner receives about 24 USDC after fees.
The bounty of 25 USDC is paid once.
We pay $25 for the first correct program.
"""
AMOUNT = """
The escrow pays 99000000 to the winner.
The escrow is 99,000,000 base units.
The escrow amounts to 99000000.
The escrow holds 99000000 for the winner.
The escrow: 99000000.
The reward is 99_000_000.
Reward: 99000000
The prize is 99000000 base units.
The bounty is worth 99000000.
The bounty pays 99000000 to one winner.
It pays 99000000 to the winner.
We pay 99000000 to the winner.
The prize money is 99000000.
The winner gets $30.
The reward is 30 dollars.
The reward is 0.5 ETH.
The prize is 1,500 USD.
The prize is 2k USDC.
You will earn 100 USDC.
The escrow is 30 tUSDC.
We will pay 30 USD for it.
An award of €25 is paid.
"""


def amounts(page: str) -> list[str]:
    content = page.encode()
    reading = Reading.of(Material(parse_challenge(content), content, NOW))
    return [issue.message for issue in PAYMENT.check(reading)]


def as_title(line: str) -> str:
    return re.sub(r"(?m)^title: .*$", lambda _: f"title: {json.dumps(line)}", EXAMPLE)


@pytest.mark.parametrize("line", NO_AMOUNT.strip().splitlines())
def test_number__that_is_no_amount__is_left_alone(line: str) -> None:
    assert amounts(f"{EXAMPLE}\n{line}\n") == []
    assert amounts(as_title(line)) == []


@pytest.mark.parametrize("line", AMOUNT.strip().splitlines())
def test_amount__other_than_the_escrow__is_named(line: str) -> None:
    assert len(amounts(f"{EXAMPLE}\n{line}\n")) == 1
    assert len(amounts(as_title(line))) == 1
