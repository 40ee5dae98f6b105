"""Read why a bounty ended as it did: each Guardian's reasons, checked against their hashes in the Hub.

python read_reasons.py deployment.json 7
"""

import json
import sys
from pathlib import Path

from service_cli import Client, parse_bounty_id

client = Client(json.loads(Path(sys.argv[1]).read_text()))
for verdict in client.verdicts(parse_bounty_id(sys.argv[2])):
    print(verdict.guardian_address, verdict.kind, verdict.solver_address)
    print(verdict.more["document"] or f"the reasons are not there: {verdict.code}")
