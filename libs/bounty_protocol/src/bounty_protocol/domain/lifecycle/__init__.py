"""What happens to a bounty: its states, its events, who judges it, and the record of how it ended."""
