"""These tests install 390 MB of npm packages, so that they are collected in a campaign alone (``assurance``)."""

from tests.campaign import FULL

collect_ignore_glob = [] if FULL else ["test_*.py"]
