"""Everything a page may reach, made once per process and passed in."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, cast

from bounty_protocol.clock import Clock, SystemClock
from bounty_protocol.crypto.beacon_http import Urllib3Get
from flask import current_app
from service_common.budgets import Budgets
from service_common.web.callers import AT_ONCE, CallerBudgets, Callers

from service_web.api.answers import Api
from service_web.api.client import ApiReader
from service_web.beacon import Rounds
from service_web.challenge import Challenges
from service_web.config import PagesConfig
from service_web.withheld import WithheldTexts
from service_web.written import WrittenVerdicts

EXTENSION: Final = "service-web"


@dataclass(frozen=True)
class Dependencies:
    """Dependencies shared by the pages of one process. Thread-safe."""

    config: PagesConfig
    api: Api
    challenges: Challenges
    written: WrittenVerdicts
    rounds: Rounds
    clock: Clock

    @cached_property
    def callers(self) -> Callers:
        """Who calls, and how much each may use: each process counts for itself, since there is nothing to spend here
        but its own time."""
        factor = self.config.budget_factor
        usual = CallerBudgets()
        budgets = replace(
            usual,
            reads=replace(usual.reads, amount=usual.reads.amount * factor),
        )
        return Callers(Budgets(self.clock), budgets, self.config.web.forwarded_hops, AT_ONCE * factor)


def make_dependencies(config: PagesConfig) -> Dependencies:
    """The real ones."""
    clock = SystemClock()
    api = Api(ApiReader(config.api_url, clock, hub=config.hub_header))
    withheld = WithheldTexts(api, clock)
    challenges, written = Challenges(api, withheld, clock), WrittenVerdicts(api, withheld, clock)
    return Dependencies(config, api, challenges, written, Rounds(config.beacon, Urllib3Get(), clock), clock)


def dependencies() -> Dependencies:
    """Those of the app that answers this request."""
    return cast("Dependencies", current_app.extensions[EXTENSION])
