"""Whether a bounty takes Submissions at this moment of the index."""

from service_common.db.hub_facts import HubFacts
from service_common.db.hub_reads import IndexedBounty
from service_common.errors import state_refusal

from service_api.usecases.rendering import schedule_of, status_of


def require_accepting(facts: HubFacts, bounty: IndexedBounty) -> None:
    """Open and before the submission deadline; else a final refusal."""
    if not schedule_of(bounty).accepting(status_of(bounty), facts.head.block_time):
        raise state_refusal("invalid_solver_submission", "The bounty does not accept Submissions any more.")
