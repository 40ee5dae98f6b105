"""Events of ``claim``, for its help."""

from service_cli.acts.claim_events import (
    AwaitedClaim,  # noqa: F401
    ClaimedAmount,  # noqa: F401
    ClaimTotal,  # noqa: F401
    DueAmount,  # noqa: F401
    PaidClaim,  # noqa: F401
    PreparedClaim,  # noqa: F401
    UnsentClaim,  # noqa: F401
)
