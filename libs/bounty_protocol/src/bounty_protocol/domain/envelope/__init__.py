"""The envelope of a Submission: its form, its checks, and what it names."""
