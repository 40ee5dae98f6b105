"""Show what the accounts in the file, and others, can do now: judge, claim, open.

python my_status.py deployment.json 0x…
"""

import json
import sys
from pathlib import Path

from service_cli import Client, parse_address

client = Client(json.loads(Path(sys.argv[1]).read_text()))
status = client.status([parse_address(text) for text in sys.argv[2:]])
for account in status.accounts:
    print(account.account, account.token_balance, account.roles)
for task in status.tasks:
    print(task.bounty_id, task.task, task.until, task.command)
