"""Compare everything that the service shows of a bounty with the chain; exit code 1 where something differs.

python audit_bounty.py deployment.json 7
"""

import json
import sys
from pathlib import Path

from service_cli import Client, parse_bounty_id

client = Client(json.loads(Path(sys.argv[1]).read_text()))
audit = client.audit(parse_bounty_id(sys.argv[2]))
print(audit.summary)
for check in audit.checks:
    print(check.result, check.title, check.detail)
sys.exit(1 if audit.differing else 0)
