"""The bucket's lifecycle configuration: it tidies up, and no rule of it can reach sealed work."""

import json
import re
from pathlib import Path

from service_api.backup.dumps import PREFIX

STORAGE = Path(__file__).parents[2] / "deploy/storage"
BACKUPS = json.loads((STORAGE / "backups-lifecycle.json").read_text(encoding="utf-8"))["rule"]
RULES = json.loads((STORAGE / "lifecycle.json").read_text(encoding="utf-8"))["rule"]


def test_lifecycle_rules__that_delete__reach_replaced_generations_only() -> None:
    conditions = [rule["condition"] for rule in RULES if rule["action"]["type"] == "Delete"]
    assert conditions
    assert all(condition["isLive"] is False for condition in conditions)


def test_lifecycle_rules__all_of_them__are_about_submissions() -> None:
    assert {rule["action"]["type"] for rule in RULES} == {"AbortIncompleteMultipartUpload", "Delete"}
    assert all(rule["condition"]["matchesPrefix"] == ["submissions/"] for rule in RULES)


def test_lifecycle_rules__of_the_backups__keep_each_dump_longer_than_its_retention() -> None:
    (rule,) = BACKUPS
    (days,) = re.findall(r"--retention-period=(\d+)d", (STORAGE / "README.md").read_text(encoding="utf-8"))
    assert rule["action"] == {"type": "Delete"}
    assert rule["condition"]["matchesPrefix"] == [PREFIX]
    assert rule["condition"]["age"] > int(days) > 7
