"""Rubric 4, money: whatever the page says of the reward is what goes into escrow, paid once to one winner.

Promises: an amount counts only in a sentence that is about the reward; prices, wages and amounts in examples are left
alone.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from service_common.errors import Issue

from service_reviewer.providers.rules.numbers import decimal_of
from service_reviewer.providers.rules.reading import Passage, Reading
from service_reviewer.providers.rules.wording import Wording

_NUMBER: Final = r"\d(?:[\d,._]|[ ](?=\d{3}\b)){0,20}(?<![.,])"
_MONEY: Final = Wording(
    rf"(?P<sign>[$€£])\s?(?P<signed>{_NUMBER})(?P<k1>k\b)?"
    rf"|(?P<number>{_NUMBER})(?P<k2>k)?\s?(?P<unit>t?USDC|USDT|USD|DAI|dollars?|EUR|euros?|GBP|pounds|ETH|ether)\b",
    "$|€|£|usd|dai|dollar|eur|gbp|pounds|eth",
)
_BASE_UNITS: Final = re.compile(r"(?<![\w.,$€£])(\d{6,30}|\d{1,3}(?:[,_]\d{3}){2,8})\b(?!\s?%)")
_REWARD: Final = re.compile(
    r"\b(rewards?|prizes?|bounty|escrow|award(s|ed)?|payouts?|winners?|bonus(es)?|we('ll| will)? pay|you('ll| will)? "
    r"(get|earn|receive)|receives?|pays? out|earns?|we('re| are)? (offer|offering)|you are paid|up for grabs|^pays?)\b",
    re.IGNORECASE,
)
_ABOUT_ESCROW: Final = re.compile(r"\b(escrow|reward|prize|bounty|pays?)\b[^.]{0,40}$", re.IGNORECASE)
_RATE: Final = re.compile(r"\s*(an|a|per|each|/)\s?(hour|day|week|month|year|h\b|seat|user|node|gb)", re.IGNORECASE)
_NET: Final = re.compile(r"\b(after|minus|less|net of|without|before) (the |all )?fees?\b|\bnet\b", re.IGNORECASE)
_DOLLARS: Final = frozenset({"$", "usd", "usdc", "tusdc", "usdt", "dai", "dollar", "dollars"})
_SEVERAL: Final = Wording(
    r"\b(second|2nd|third|3rd) (place|prize|winner)\b|\brunners?[- ]up (gets?|receives?|earns?|prizes?|will)\b"
    r"|\b(split|shared|divided) (equally |evenly )?(between|among) (the |all )?(best|top|winners|solvers|first|submi)"
    r"|\b(share|split) the (prize|money|reward|bounty|escrow|award)\b"
    r"|\b(each|every)\b[^.]{0,40}\b(finding|bug|submission|entry|report|vulnerability|participant)s?\b[^.]{0,30}"
    r"\b(earns?|gets?|receives?|pays?|is (paid|rewarded|worth))\b"
    r"|\btop (three|five|ten|3|5|10) (submissions|entries) (get|receive|share|are paid)",
    "place|prize|share|winner|runner|split|shared|divided|each|every|top ",
)
_OUTSIDE: Final = Wording(
    r"\b(paid|pay|payment|amount|money|rest|half)\b[^.]{0,40}\b(up ?front|in advance|in two parts"
    r"|(in|by|per|after each) milestones?|(by|via|with|through) (bank transfer|wire|paypal|revolut|venmo|wise|cash))\b"
    r"|\bby bank transfer\b|\b(up ?front|advance|down) payment\b",
    "pay|paid|transfer|amount|money|rest|half",
)
_NEGATION: Final = re.compile(r"\b(no|not|never|without|neither|nor|cannot|n't)\b[^.,;]{0,30}$", re.IGNORECASE)


def find_other_terms(reading: Reading) -> Iterator[Issue]:
    """Amounts and ways of payment that are not those of the escrow."""
    for passage in reading.prose:
        for at, sentence in passage.sentences:
            yield from _amounts(reading, passage, at, sentence)
            yield from _payments(passage, at, sentence)


def _amounts(reading: Reading, passage: Passage, at: int, sentence: str) -> Iterator[Issue]:
    escrow = reading.page.escrow_amount
    whole = Decimal(escrow) / Decimal(10**reading.material.token_decimals)
    for found in _MONEY.finditer(sentence):
        if not _REWARD.search(sentence):
            break
        value = decimal_of(found["signed"] or found["number"], found["k1"] or found["k2"])
        if value is None or _RATE.match(sentence, found.end()) or (value < whole and _NET.search(sentence)):
            continue
        if (found["sign"] or found["unit"]).lower() not in _DOLLARS or value != whole:
            yield passage.issue(
                f"Speaks of {found.group().strip()} where the escrow is {escrow} base units ({whole.normalize():f} "
                f"{reading.material.token_symbol}). The escrow is all that is paid: state it once, in the frontmatter.",
                at + found.start(),
            )
    for found in _BASE_UNITS.finditer(sentence):
        value = decimal_of(found.group(1))
        if _ABOUT_ESCROW.search(_before(sentence, found)) and value not in {Decimal(escrow), whole, None}:
            yield passage.issue(
                f"States an amount of {found.group(1)} where the frontmatter's escrow_amount is {escrow}. "
                "State it once, in the frontmatter.",
                at + found.start(),
            )


def _payments(passage: Passage, at: int, sentence: str) -> Iterator[Issue]:
    if (found := _SEVERAL.search(sentence)) and not _NEGATION.search(_before(sentence, found)):
        yield passage.issue(
            f"Promises {found.group()[:60]!r}, but the Hub pays the whole award to one Submission. Say what decides "
            "between Submissions, or publish several bounties.",
            at + found.start(),
        )
    if (found := _OUTSIDE.search(sentence)) and not _NEGATION.search(_before(sentence, found)):
        yield passage.issue(
            f"Promises a payment {found.group()[:60]!r} that nothing guarantees: the Hub pays the escrow once, after "
            "judging. Leave it out.",
            at + found.start(),
        )


def _before(sentence: str, found: "re.Match[str]") -> str:
    return sentence[max(0, found.start() - 60) : found.start()]
