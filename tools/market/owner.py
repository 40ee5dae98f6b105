"""The Hub's owner, who changes what later bounties pin, and offers the Hub to somebody who does not take it."""

import threading
from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused

from tools.market.drawn import GUARDIANS, QUORUM, source
from tools.market.people import NotMined, Town

PAUSE_SECONDS: Final = 25.0


@dataclass
class Owner:
    """At work until the run's time is over. What a reorg takes back is not done again."""

    town: Town
    seed: int
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """One act after the other."""
        chosen, town = source(self.seed, "owner"), self.town
        owner, hub = town.actors["owner"], town.hub
        while not self.ended.wait(PAUSE_SECONDS * chosen.uniform(0.3, 1.3)):
            fees = chosen.randint(0, 1_000), chosen.randint(0, 2_000)
            quorum = chosen.randint(QUORUM, len(GUARDIANS) - 1)
            act = chosen.choice(("setFeePolicy", "publishRoster", "transferOwnership"))
            try:
                if act == "setFeePolicy":
                    town.transact(owner, hub, act, *fees, town.actors["fee-recipient"].address)
                elif act == "publishRoster":
                    roster = town.ask("getRoster", town.ask("currentRosterVersion"))
                    town.transact(owner, hub, act, list(roster[2]), list(roster[3]), quorum, gas=2_000_000)
                else:
                    town.transact(owner, hub, act, town.actors["stranger-1"].address)
                    town.transact(owner, hub, act, "0x" + "0" * 40)
            except (NotMined, RpcRefused, ChainUnavailable) as error:
                town.log.write("owner", "failed", act=act, why=str(error)[:200])
            else:
                town.log.write("owner", "ok", act=act, fees=fees, quorum=quorum)
