"""Which witnesses each fact needs before an act rests on it.

An act that spends money, judges, seals work or hands a key over cannot be taken back, and an endpoint is run by
somebody. So no such act rests on one party's word: each fact is asked of the witnesses named here, and an act takes
only values that say who vouched for them (``vouching.Vouched``). docs/witnesses.md shows this table.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Witness(StrEnum):
    """Who can say something about a fact."""

    NODE = "node"
    """The RPC endpoint, ``SERVICE_RPC_URL``."""
    FURTHER = "further nodes"
    """Each of ``SERVICE_RPC_URLS``, where there are any."""
    API = "API"
    JOURNAL = "journal"
    """This machine's own journal."""
    CLOCK = "clock"
    """This machine's."""
    RECORD = "record"
    """The network's, or what is configured in its place."""
    PERSON = "person"
    """Who names it in full."""


class Fact(StrEnum):
    """A fact that an act needs."""

    TIME = "time"
    CONDITIONS = "conditions"
    UNFUNDED = "unfunded"
    AUTHORIZATION_OVER = "authorization_over"
    TERMS = "terms"
    REVEAL_POINT = "reveal_point"
    ROSTER = "roster"
    NUMBER = "number"
    WINNER = "winner"
    DELIVERY_KEY = "delivery_key"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class WitnessRule:
    """A fact in words, the commands that rest on it, who has to vouch, and what happens when one of them is silent."""

    fact: Fact
    what: str
    """Continues "two sources say different things about"."""
    acts: tuple[str, ...]
    needs: frozenset[Witness]
    silence: str
    differs: str = "sources_disagree"
    """The code when two of them say different things; both are named, and nothing is signed."""
    one_of: frozenset[Witness] = frozenset()
    """Of these, one has to vouch, too."""
    goes_on_without: frozenset[Witness] = frozenset()
    """Witnesses without whom the act goes on where the person decided so, and sees who alone vouches."""

    def lacks(self, said: frozenset[Witness]) -> frozenset[Witness]:
        """Whose word is missing when these vouched."""
        missing = self.needs - said - self.goes_on_without
        return missing if not self.one_of or self.one_of & said else missing | self.one_of


_FUND: Final = "poster:publish-fund"
_SUBMIT: Final = "solver:submit"
_VERDICT: Final = "guardian:verdict"
_DELIVER: Final = "guardian:deliver-key"
_CHAIN: Final = frozenset({Witness.NODE, Witness.FURTHER})
_WITHOUT_API: Final = "refused; with `--without-api` a Solver goes on, and sees who alone vouches"
TABLE: Final = (
    WitnessRule(
        Fact.TIME,
        "the moment from which an authorization's hour is counted",
        (_FUND,),
        _CHAIN | {Witness.CLOCK},
        "refused",
        differs="time_disagrees",
    ),
    WitnessRule(
        Fact.CONDITIONS,
        "the roster, fees and token that a bounty created now pins",
        (_FUND,),
        _CHAIN | {Witness.API},
        "refused: the page is published in every run that signs an authorization or an allowance",
        differs="publication_mismatch",
    ),
    WitnessRule(
        Fact.UNFUNDED,
        "the bounties that this account has funded on this page",
        (_FUND,),
        _CHAIN | {Witness.API, Witness.JOURNAL},
        "refused",
    ),
    WitnessRule(
        Fact.AUTHORIZATION_OVER,
        "whether an authorization that was signed for this page can still be used",
        (_FUND,),
        _CHAIN | {Witness.CLOCK, Witness.JOURNAL},
        "refused until its end lies behind the finalized block and behind this machine's clock; that the token shows "
        "it as cancelled changes nothing about that",
        differs="authorization_outstanding",
    ),
    WitnessRule(
        Fact.TERMS,
        "a bounty's page, escrow and deadlines",
        (_SUBMIT, _VERDICT, _DELIVER),
        _CHAIN | {Witness.API},
        "refused; with `--without-api` a Solver goes on, with `--unpublished` a Guardian, and sees who alone vouches",
        differs="read_model_mismatch",
        goes_on_without=frozenset({Witness.API}),
    ),
    WitnessRule(
        Fact.REVEAL_POINT,
        "the moment from which sealed work can be opened",
        (_SUBMIT,),
        _CHAIN | {Witness.CLOCK, Witness.RECORD},
        "refused: it is the deadline plus the Hub's delay as the record has it, and the deadline is later than this "
        "machine's clock",
        differs="reveal_point_wrong",
    ),
    WitnessRule(
        Fact.ROSTER,
        "the Guardians whose keys open sealed work",
        (_SUBMIT,),
        _CHAIN | {Witness.API},
        _WITHOUT_API,
        differs="read_model_mismatch",
        goes_on_without=frozenset({Witness.API}),
    ),
    WitnessRule(
        Fact.NUMBER,
        "which Submission is meant",
        (_VERDICT,),
        _CHAIN,
        "what this machine opened under a number keeps it, and the API has to show the same; else the Submission is "
        "named by Solver and commitment",
        one_of=frozenset({Witness.JOURNAL, Witness.API, Witness.PERSON}),
    ),
    WitnessRule(
        Fact.WINNER,
        "the outcome of a bounty and its winner",
        (_DELIVER,),
        _CHAIN | {Witness.API},
        "refused",
        differs="read_model_mismatch",
    ),
    WitnessRule(
        Fact.DELIVERY_KEY,
        "the key to which a winning key is sealed",
        (_DELIVER,),
        _CHAIN | {Witness.API},
        "refused",
    ),
    WitnessRule(
        Fact.DONE,
        "what an earlier run reported as done",
        (_FUND, _SUBMIT, _VERDICT, "claim"),
        _CHAIN | {Witness.JOURNAL},
        "looked for again by every later run: a receipt counts only with its event, and what is gone is done again",
    ),
)
RULES: Final = {rule.fact: rule for rule in TABLE}
