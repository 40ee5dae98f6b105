"""The readiness rules: the rubric's points that a program can check, one module for each.

The reviewer judges published pages by them, and the client the same page before it is published.
"""
