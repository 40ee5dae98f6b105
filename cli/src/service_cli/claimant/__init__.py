"""The Claimant's commands: claim an award or a refund."""
