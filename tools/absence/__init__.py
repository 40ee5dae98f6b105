"""The drill that takes each single process of the stack away in turn, while bounties run through their lives."""
