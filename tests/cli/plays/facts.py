"""The facts that the client's acts rest on, as the plays name them: which commands need each, and who can forge it."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final


class By(Enum):
    """Who forges. One operator of both forges alike in both."""

    NODE = "the node"
    API = "the API"
    BOTH = "node and API"

    @property
    def has_node(self) -> bool:
        return self is not By.API

    @property
    def has_api(self) -> bool:
        return self is not By.NODE


class Fact(StrEnum):
    """A fact that a command needs before it cannot be taken back."""

    TIME = "the moment from which an authorization's hour is counted"
    CONDITIONS = "the roster, fees and token of a new bounty"
    UNFUNDED = "the bounties that this account has funded with this page"
    AUTHORIZATION_OVER = "whether an authorization can still be used"
    TERMS = "a bounty's page, escrow and deadlines"
    REVEAL_POINT = "the moment from which sealed work can be opened"
    ROSTER = "the Guardians whose keys open sealed work"
    NUMBER = "which Submission is meant"
    WINNER = "the outcome and the winner"
    DELIVERY_KEY = "the key to which a winning key is sealed"
    DONE = "what an earlier run reported as done"


@dataclass(frozen=True, slots=True)
class ForgedFact:
    """A fact that each of these parties alone can forge for each of these commands."""

    fact: Fact
    commands: tuple[str, ...]
    by: tuple[By, ...]


_FUND: Final = "poster:publish-fund"
_SUBMIT: Final = "solver:submit"
_VERDICT: Final = "guardian:verdict"
_DELIVER: Final = "guardian:deliver-key"
_EACH: Final = (By.NODE, By.API)
FORGED_FACTS: Final = (
    ForgedFact(Fact.TIME, (_FUND,), (By.NODE,)),
    ForgedFact(Fact.CONDITIONS, (_FUND,), _EACH),
    ForgedFact(Fact.UNFUNDED, (_FUND,), _EACH),
    ForgedFact(Fact.AUTHORIZATION_OVER, (_FUND,), (By.NODE,)),
    ForgedFact(Fact.TERMS, (_SUBMIT, _VERDICT, _DELIVER), _EACH),
    ForgedFact(Fact.REVEAL_POINT, (_SUBMIT,), (By.NODE,)),
    ForgedFact(Fact.ROSTER, (_SUBMIT,), _EACH),
    ForgedFact(Fact.NUMBER, (_VERDICT,), _EACH),
    ForgedFact(Fact.WINNER, (_DELIVER,), _EACH),
    ForgedFact(Fact.DELIVERY_KEY, (_DELIVER,), _EACH),
    ForgedFact(Fact.DONE, (_FUND, _SUBMIT, _VERDICT, "claim"), (By.NODE,)),
)
