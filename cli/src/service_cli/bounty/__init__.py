"""Bounties as anyone can look at them."""
