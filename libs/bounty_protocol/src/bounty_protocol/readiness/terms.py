"""Rubric 4, money and limits: what the page states is what its frontmatter fixes.

The reward is what goes into escrow, paid once to one winner. An amount counts only in a sentence that is about the
reward, and without a unit only where such a word states it: prices, wages, amounts in examples, ids, dates and counts
are left alone.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.numbers import decimal_of, has_digit
from bounty_protocol.readiness.patterns import Found, Pattern, found_in
from bounty_protocol.readiness.reading import Passage, Reading
from bounty_protocol.readiness.rule import Example, Rule

_NUMBER: Final = r"\d(?:[,.]{0,3}[\d_]| \d{3}\b){0,20}"
_MONEY: Final = Pattern(
    rf"(?P<sign>[$€£])\s?(?P<signed>{_NUMBER})(?P<k1>k\b)?"
    rf"|(?P<number>{_NUMBER})(?P<k2>k)?\s?(?P<unit>t?USDC|USDT|USD|DAI|dollars?|EUR|euros?|GBP|pounds|ETH|ether)\b",
)
_BASE_UNITS: Final = Pattern(r"(?:\d{6,30}|\d{1,3}(?:[,_]\d{3}){2,8})\b", not_after=r"[\w.,$€£]", not_before=r"\s?%")
_REWARD: Final = Pattern(
    r"\b(rewards?|prizes?|bounty|escrow|award(s|ed)?|payouts?|winners?|bonus(es)?|we('ll| will)? pay|you('ll| will)? "
    r"(get|earn|receive)|receives?|pays? out|earns?|we('re| are)? (offer|offering)|you are paid|up for grabs|^pays?)\b",
)
_STATES_AN_AMOUNT: Final = Pattern(
    r"\b((escrow|rewards?|prize|bounty|award|payout)( (money|amount|sum|pool))?"
    r"(:| (of|is|was|will be|amounts to|comes to|is worth|holds|contains|is funded with|pays( out)?))|pays?)"
    r"( (about|exactly|only|up to|at least|at most))?:? $",
)
"""Directly before a number without a unit: otherwise it is an id, a date, a count, or anything else."""
_RATE: Final = Pattern(r"\s{0,10}(an|a|per|each|/)\s?(hour|day|week|month|year|h\b|seat|user|node|gb)")
_NET: Final = Pattern(r"\b(after|minus|less|net of|without|before) (the |all )?fees?\b|\bnet\b")
_DOLLARS: Final = frozenset({"$", "usd", "usdc", "tusdc", "usdt", "dai", "dollar", "dollars"})
_SEVERAL: Final = Pattern(
    r"\b(second|2nd|third|3rd) (place|prize|winner)\b|\brunners?[- ]up (gets?|receives?|earns?|prizes?|will)\b"
    r"|\b(split|shared|divided) (equally |evenly )?(between|among) (the |all )?(best|top|winners|solvers|first|submi)"
    r"|\b(share|split) the (prize|money|reward|bounty|escrow|award)\b"
    r"|\b(each|every)\b[^.]{0,40}\b(finding|bug|submission|entry|report|vulnerability|participant)s?\b[^.]{0,30}"
    r"\b(earns?|gets?|receives?|pays?|is (paid|rewarded|worth))\b"
    r"|\btop (three|five|ten|3|5|10) (submissions|entries) (get|receive|share|are paid)",
)
_OUTSIDE: Final = Pattern(
    r"\b(paid|pay|payment|amount|money|rest|half)\b[^.]{0,40}\b(up ?front|in advance|in two parts"
    r"|(in|by|per|after each) milestones?|(by|via|with|through) (bank transfer|wire|paypal|revolut|venmo|wise|cash))\b"
    r"|\bby bank transfer\b|\b(up ?front|advance|down) payment\b",
)
_NEGATION: Final = Pattern(r"\b(no|not|never|without|neither|nor|cannot|n't)\b[^.,;]{0,30}$")


def find_other_terms(reading: Reading) -> Iterator[Issue]:
    """Find amounts and ways of payment other than the escrow's."""
    promises = found_in((_SEVERAL, _OUTSIDE), reading.all_prose)
    for passage in reading.prose:
        for at, sentence in passage.sentences:
            if has_digit(sentence):
                yield from _amounts(reading, passage, at, sentence)
            yield from _payments(passage, at, sentence, promises)


def _amounts(reading: Reading, passage: Passage, at: int, sentence: str) -> Iterator[Issue]:
    escrow = reading.page.escrow_amount
    whole = Decimal(escrow) / Decimal(10**reading.material.token_decimals)
    amounts = list(_MONEY.each(sentence))
    is_net = bool(amounts) and _NET.search(sentence) is not None
    for found in amounts if amounts and _REWARD.search(sentence) else ():
        value = decimal_of(found["signed"] or found["number"], found["k1"] or found["k2"])
        if value is None or _RATE.starts(sentence[found.end : found.end + 40]) or (value < whole and is_net):
            continue
        if (found["sign"] or found["unit"]).lower() not in _DOLLARS or value != whole:
            yield passage.issue(
                f"Mentions {found.words.strip()}, but the escrow is {escrow} base units ({whole.normalize():f} "
                f"{reading.material.token_symbol}). Only the escrow is paid: state it once, in the frontmatter.",
                at + found.start,
            )
    for found in _BASE_UNITS.each(sentence):
        value = decimal_of(found.words)
        if _STATES_AN_AMOUNT.search(_before(sentence, found)) and value not in {Decimal(escrow), whole, None}:
            yield passage.issue(
                f"States an amount of {found.words} but the frontmatter's escrow_amount is {escrow}. State it once, "
                "in the frontmatter.",
                at + found.start,
            )


def _payments(passage: Passage, at: int, sentence: str, promises: Sequence[Pattern]) -> Iterator[Issue]:
    if _SEVERAL in promises and (found := _SEVERAL.search(sentence)) and not _NEGATION.search(_before(sentence, found)):
        yield passage.issue(
            f"Promises {found.words[:60]!r}, but the Hub pays the whole award to one Submission. Say what decides "
            "between Submissions, or publish several bounties.",
            at + found.start,
        )
    if _OUTSIDE in promises and (found := _OUTSIDE.search(sentence)) and not _NEGATION.search(_before(sentence, found)):
        yield passage.issue(
            f"Promises a payment {found.words[:60]!r} that nothing guarantees: the Hub pays the escrow once, after "
            "judging. Remove it.",
            at + found.start,
        )


def _before(sentence: str, found: Found) -> str:
    return sentence[max(0, found.start - 60) : found.start]


PAYMENT: Final = Rule(
    name="payment",
    point=4,
    check=find_other_terms,
    examples=(
        Example("body", "The winner receives 30 USDC.", "Hosting costs us $40 a month."),
        Example("body", "The escrow pays 99000000 to the winner.", "The prize is 25000000, as the frontmatter says."),
        Example("body", "Second place receives a book.", "There is no second prize."),
        Example("body", "We pay by bank transfer.", "There is no payment in advance."),
    ),
)
