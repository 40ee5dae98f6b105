"""What a Claimant does: claim an award or a refund."""
