"""The readiness rules: the rubric's points that a program can check, one module for each.

The reviewer judges published pages by them, and the client the same page before it is published.
"""

from typing import Final

VERSION: Final = "rules-5"
"""The version of the rules: it changes whenever the same page could get other issues than before. It loads none of
them.
"""
