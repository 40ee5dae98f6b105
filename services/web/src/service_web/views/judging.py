"""What a Guardian has to judge, now and next."""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.types import Address
from bounty_protocol.wire.bounties import BountyItem

from service_web.dependencies import Dependencies

_MOST_BEGUN: Final = 500
_MOST_COMING: Final = 100
_ROUNDED_SECONDS: Final = 3_600


@dataclass(frozen=True, slots=True)
class ToJudge:
    """Bounties that pinned a roster with a Guardian, whether or not it has judged them; ``is_cut``: there are more."""

    items: tuple[BountyItem, ...] = ()
    is_cut: bool = False


def to_judge(deps: Dependencies, guardian: Address) -> ToJudge:
    """Those that can be judged, and those that can be soon, each in the order of their deadlines.

    Every open bounty names the Guardians of the current roster: a list of the newest has those that are to be judged
    last, and anybody can fill it for gas. One without Submissions is not judged.
    """
    now, delay = deps.clock.now(), deps.api.deployment().value.reveal_delay_seconds
    asked = {"status": "open", "guardian_address": guardian, "sort": "deadline"}
    begun, are_more_begun = deps.api.listed({**asked, "judgeable": "true"}, _MOST_BEGUN)
    # Those whose judging window is over are open until somebody settles them, and would come first. The moment is
    # rounded so that the same question is asked, and its answer kept, for an hour.
    since = max(0, (now - delay) // _ROUNDED_SECONDS * _ROUNDED_SECONDS)
    ahead = {**asked, "judgeable": "false", "deadline_after": str(since)}
    coming, are_more_coming = deps.api.listed(ahead, _MOST_COMING)
    items = tuple(
        each
        for each in (*begun, *coming)
        if now < each.facts.judging_deadline and (each.active_submission_count or each.facts.accepting)
    )
    return ToJudge(items, are_more_begun or are_more_coming)
