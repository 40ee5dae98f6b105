"""Written Verdicts, by their commitments."""
