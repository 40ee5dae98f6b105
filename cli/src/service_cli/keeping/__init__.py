"""Keeping what one needs of a bounty on one's own machine."""
