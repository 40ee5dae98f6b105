"""Bounties and accounts, as the index shows them."""
