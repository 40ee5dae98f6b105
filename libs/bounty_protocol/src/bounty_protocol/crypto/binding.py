"""Whether what was sealed names the bounty and Solver of the envelope that it came in."""

from dataclasses import dataclass

from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.domain.binding import Binding
from bounty_protocol.domain.envelope import UNBOUND_VERSION, Envelope


@dataclass(frozen=True, slots=True)
class ExpectedBinding:
    """The binding that must be inside; ``required`` is False where an older format may have left it out."""

    binding: Binding
    required: bool

    def check(self, found: Binding | None, where: str) -> None:
        """Refuse work for another bounty or Solver in every version, and unbound work where a binding is required."""
        if found is None and self.required:
            raise SealedDataError(Failure.BINDING_MISSING, f"{where} does not name the bounty and Solver it is for")
        if found is not None and found != self.binding:
            message = (
                f"{where} was sealed for bounty {found.bounty_id} of the Hub {found.hub_address} on chain "
                f"{found.chain_id} by the Solver {found.solver_address}"
            )
            raise SealedDataError(Failure.SEALED_FOR_ANOTHER, message)


def expected_binding(envelope: Envelope) -> ExpectedBinding:
    """The binding that must be inside the seals of an envelope, which itself was compared with the chain."""
    return ExpectedBinding(envelope.binding, required=envelope.version > UNBOUND_VERSION)
