"""Publish a page and fund it once: after an interruption, running it again continues the same bounty.

python fund_bounty.py deployment.json page.md
"""

import json
import sys
from pathlib import Path

from service_cli import Client, Refused

client = Client(json.loads(Path(sys.argv[1]).read_text()), on_message=print)
page = Path(sys.argv[2]).read_bytes()
terms = client.preview_funding(page)
print(f"{terms.escrow_amount} base units in escrow, gas at most {terms.gas_cost_at_most} wei")
try:
    print("bounty", client.fund(page).bounty_id)
except Refused as refused:
    sys.exit(f"{refused.code}: {refused.message} {refused.next_action}")
