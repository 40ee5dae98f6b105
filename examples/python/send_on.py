"""Forward each final event of the Hub to an address, signed as a Standard Webhook, in order, until it is accepted.

service-cli bounty:watch --json | WEBHOOK_SECRET=whsec_... python send_on.py https://receiver.example/hook
"""

import json
import os
import sys
import time
import urllib.request
from datetime import UTC, datetime

from standardwebhooks import Webhook


def send(hook: Webhook, url: str, line: str) -> None:
    event = json.loads(line)
    name, now = f"{event['block_hash']}-{event['log_index']}", datetime.now(UTC)
    headers = {
        "Content-Type": "application/json",
        "webhook-id": name,  # the same each time, so that the receiver can take an event once
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": hook.sign(name, now, line),
    }
    urllib.request.urlopen(urllib.request.Request(url, line.encode(), headers), timeout=20).close()


hook = Webhook(os.environ["WEBHOOK_SECRET"])
for line in map(str.strip, sys.stdin):
    pause = 1.0
    while True:
        try:
            send(hook, sys.argv[1], line)
            break
        except OSError as error:
            print(f"not taken: {error}", file=sys.stderr)
            time.sleep(pause)
            pause = min(2 * pause, 600.0)
