"""How one bounty went, derived from the chain alone: what a party wants to know of it."""

from service_audit.chain import Chain
from service_audit.expected import KINDS, Json, facts, record, verdict_fields


def bounty_summary(chain: Chain, number: int) -> Json | None:
    """Return state, Verdicts and money of a bounty at the newest block; None of one that does not exist."""
    world = chain.world_at(chain.head.number)
    bounty = world.bounties.get(number)
    if bounty is None:
        return None
    paid = bounty.paid()
    return {
        "bounty_id": str(number),
        **facts(bounty, chain.head.time),
        "submissions": len(bounty.submissions),
        "quorum": f"{bounty.roster.quorum} of {len(bounty.roster.accounts)}",
        "verdicts": [
            {"guardian_address": guardian, **verdict_fields(log)} for guardian, log in bounty.verdicts.items()
        ],
        "amounts": [
            {"kind": KINDS[kind], "recipient": account, "amount": str(amount), "claimed": (kind, account) in paid}
            for (kind, account), amount in bounty.parts().items()
        ],
        "log_digest": None if bounty.ended is None else record(world, bounty)["log_digest"],
        "block_number": chain.head.number,
        "is_final": bounty.ended is not None and bounty.ended.place.block_number <= chain.finalized.number,
    }
