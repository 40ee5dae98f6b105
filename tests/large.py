"""An index of many bounties, written by the database itself in seconds: what a deployment of some years holds.

Nothing in it hashes to anything: it is for reads of the index and of the lists alone.
"""

from pathlib import Path

import psycopg
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.types import Address, ChainId
from service_api.bounties.searching import folded_page

GUARDIANS = tuple(Address("0x" + f"{number:02x}" * 20) for number in range(0xA1, 0xA6))
POSTER, SOLVER = Address("0x" + "00" * 19 + "07"), Address("0x" + "00" * 19 + "08")
STARTED, SPACING = 1_700_000_000, 3_600
"""When the first bounty was created, and how much later each next one is."""
HEARTBEAT = next(event.topic for event in hub_abi().events.values() if event.name == "GuardianHeartbeat")
_SQL = Path(__file__).with_suffix(".sql")


def fill(url: str, chain_id: ChainId, hub: Address, bounties: int) -> None:
    """Write ``bounties`` bounties with what belongs to them into an empty index, and analyze every table."""
    sql = _SQL.read_text(encoding="utf-8")
    given = {":chain_id": chain_id, ":hub": hub, ":bounties": bounties, ":heartbeat": HEARTBEAT}
    for name, value in given.items():
        sql = sql.replace(name, str(value))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())
        pages = connection.execute("SELECT spec_commitment, title, summary FROM app.challenge_summaries").fetchall()
        connection.cursor().executemany(
            "UPDATE app.challenge_summaries SET folded = %s, grams = %s WHERE spec_commitment = %s",
            [(*folded_page(title, summary), commitment) for commitment, title, summary in pages],
        )
        connection.execute("VACUUM ANALYZE")
