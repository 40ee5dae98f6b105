"""Whether what was sealed names the bounty and Solver of the envelope that it came in."""

from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.domain.envelope.binding import Binding


def check_binding(expected: Binding, found: Binding | None, where: str) -> None:
    """Refuse work that names a bounty or Solver other than its envelope's, or none."""
    if found is None:
        raise SealedDataError(Failure.BINDING_MISSING, f"{where} does not name its bounty and Solver")
    if found != expected:
        message = (
            f"{where} was sealed for bounty {found.bounty_id} of the Hub {found.hub_address} on chain "
            f"{found.chain_id} by the Solver {found.solver_address}"
        )
        raise SealedDataError(Failure.SEALED_FOR_ANOTHER, message)
