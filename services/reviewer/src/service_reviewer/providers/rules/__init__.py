"""The deterministic reviewer: the rubric's points that a program can check, one module for each."""
