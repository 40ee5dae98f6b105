"""What a Guardian does: open work, judge it, deliver the winning key."""
