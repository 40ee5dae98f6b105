"""Fakes that satisfy the same contract tests as what they stand for."""
