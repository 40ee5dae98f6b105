"""Claim what an account is owed by every bounty, and show what was refused.

python claim_everything.py deployment.json
"""

import json
import sys
from pathlib import Path

from service_cli import Client, Failed, Refused

client = Client(json.loads(Path(sys.argv[1]).read_text()))
try:
    total = client.claim_all()
except Refused as refused:  # some of it; the rest was claimed
    sys.exit(f"{refused.code}: {refused.message} {[issue.message for issue in refused.issues]}")
except Failed as failed:  # may pass: run it again
    sys.exit(f"{failed.code}: {failed.message} {failed.next_action}")
print(total.parts, "amounts,", total.amount, "base units; not final yet:", total.not_final)
