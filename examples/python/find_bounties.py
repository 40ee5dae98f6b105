"""Find work: open bounties that accept Submissions, the highest award first.

python find_bounties.py deployment.json "parser"
"""

import json
import sys
from pathlib import Path

from service_cli import Client

values = json.loads(Path(sys.argv[1]).read_text())
client = Client(values)
token = client.deployment().escrow_token
for item in client.find_bounties(accepting=True, search=sys.argv[2], sort="award", limit=50):
    facts = item.facts
    award = (facts.escrow_amount - facts.protocol_fee - facts.guardian_fee) / 10**token.decimals
    print(item.bounty_id, f"{award} {token.symbol}", facts.submission_deadline, repr(item.title))
