"""What the pages are made of."""

from dataclasses import dataclass

from bounty_protocol.clock import Clock
from bounty_protocol.crypto.beacon import HttpGet
from service_common.db.hub_facts import FactSource

from service_api.bounties.verification_records import Records
from service_api.config import ApiConfig
from service_api.deployment.constants import Constants


@dataclass(frozen=True, slots=True)
class PageSources:
    """The index with its records, the deployment's constants, its settings, and the beacon's relays."""

    config: ApiConfig
    records: Records
    constants: Constants
    relays: HttpGet

    @property
    def facts(self) -> FactSource:
        """Indexed Hub state."""
        return self.records.source

    @property
    def clock(self) -> Clock:
        """The time."""
        return self.facts.clock
