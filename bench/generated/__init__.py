"""A chain of any length that is derived and never stored, and the pages of its bounties."""
