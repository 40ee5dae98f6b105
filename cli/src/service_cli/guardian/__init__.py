"""The Guardian's commands: open work, judge it, deliver the winning key."""
