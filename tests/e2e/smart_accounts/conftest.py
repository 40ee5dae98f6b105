"""These tests install 390 MB of npm packages: they are collected with ``SERVICE_CAMPAIGN=full`` alone."""

from tests.campaign import FULL

collect_ignore_glob = [] if FULL else ["test_*.py"]
