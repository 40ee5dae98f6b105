"""The bucket's lifecycle configuration: it tidies up, and no rule of it can reach sealed work."""

import json
from pathlib import Path

STORAGE = Path(__file__).parents[2] / "deploy/storage"
RULES = json.loads((STORAGE / "lifecycle.json").read_text(encoding="utf-8"))["rule"]


def test_deleting_rules_reach_replaced_generations() -> None:
    conditions = [rule["condition"] for rule in RULES if rule["action"]["type"] == "Delete"]
    assert conditions
    assert all(condition["isLive"] is False for condition in conditions)


def test_lifecycle_rules_are_about_submissions() -> None:
    assert {rule["action"]["type"] for rule in RULES} == {"AbortIncompleteMultipartUpload", "Delete"}
    assert all(rule["condition"]["matchesPrefix"] == ["submissions/"] for rule in RULES)
