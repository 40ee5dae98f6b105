"""A Guardian opens every Submission of a bounty, and records that none is valid, with reasons from a file.

python judge_bounty.py deployment.json 7 opened/ reasons.md
"""

import json
import sys
from pathlib import Path

from service_cli import Client, parse_bounty_id

client = Client(json.loads(Path(sys.argv[1]).read_text()))
bounty_id, reasons = parse_bounty_id(sys.argv[2]), Path(sys.argv[4]).read_text()
opened = client.open_submissions(bounty_id, Path(sys.argv[3]))
print(f"{opened.opened} opened, {opened.opened_before} before, {opened.not_opened} cannot be")
print("recorded in block", client.record_verdict(bounty_id, reasons, winner=None).block_number)
