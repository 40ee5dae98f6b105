"""The rules first; a paid provider only for what passes them.

A page that the rules refuse costs nothing. A paid call is taken from the budget before it is made, and given back when
its outcome is not billed.
"""

from typing import Protocol

from bounty_protocol.readiness.material import Material

from service_reviewer.providers.port import Judgement, PaidProvider, Provider, ProviderError


class PaidCalls(Protocol):
    """The paid calls a deployment may make."""

    def take(self) -> str:
        """Take one, or ``ProviderError`` with the moment when there is one again; what was taken."""

    def give_back(self, taken: str) -> None:
        """It was not used."""


class StagedProvider:
    """Two providers, the cheap one first."""

    def __init__(self, rules: Provider, paid: PaidProvider, budget: PaidCalls) -> None:
        self._rules = rules
        self._paid = paid
        self._budget = budget

    def judge(self, material: Material) -> Judgement:
        """The rules' issues where there are any, else the paid provider's judgement."""
        first = self._rules.judge(material)
        if first.issues:
            return first
        if (objection := self._paid.objection(material)) is not None:
            return objection
        taken = self._budget.take()
        try:
            return self._paid.judge(material)
        except ProviderError as error:
            if not error.spent:
                self._budget.give_back(taken)
            raise
