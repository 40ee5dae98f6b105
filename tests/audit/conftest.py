"""The stack of the campaign is minutes of its own: it runs in ``./noxw -s nightly`` alone."""

from tests.campaign import FULL

collect_ignore = [] if FULL else ["test_planted.py"]
