"""The long campaigns: what each runs and covers, how it ended, and whether that still holds."""
