"""Follow a bounty until its outcome is final, and print each event.

python follow_bounty.py deployment.json 7
"""

import json
import sys
from pathlib import Path

from service_cli import Client, parse_bounty_id

values = json.loads(Path(sys.argv[1]).read_text())
client = Client(values, on_event=lambda event: print(event.name_of_event(), event.json()))
end = client.watch(parse_bounty_id(sys.argv[2]))
print(end.outcome, end.settlement_reason, end.winner)
