"""A program over the client that ariadne-codegen made, in the package ``graphql_client`` beside it."""

from graphql_client.client import Client
from graphql_client.enums import BountyStatus, VerdictKind


def lines(url: str) -> list[str]:
    """A line for each open bounty."""
    found = Client(url).open(award="1")
    shown = []
    for bounty in found.bounties:
        status: BountyStatus = bounty.status
        left: int = bounty.judging_deadline - found.meta.block.number
        awarded = sum(verdict.kind is VerdictKind.awarded for verdict in bounty.verdicts)
        shown.append(f"{bounty.id.upper()} {status.value} {int(bounty.award_amount)} {left > 0} {awarded}")
    return shown


if __name__ == "__main__":
    import sys

    print("\n".join(lines(sys.argv[1])))
