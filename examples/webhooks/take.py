"""Verify a webhook's message and take its facts, each once."""

import json

from standardwebhooks import Webhook, WebhookVerificationError

seen: set[str] = set()  # a table with a unique key, in a program that may be restarted


def take(secret: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    """The status and the body to answer a request with."""
    try:
        message = Webhook(secret).verify(body, headers)
    except WebhookVerificationError:
        return 400, b""
    if message["type"] == "webhook.challenge":
        return 200, json.dumps({"challenge": message["data"]["challenge"]}).encode()
    if message["type"] == "hub.facts":
        for change in message["data"]["changes"]:
            event = change["event"]
            if event is None:
                print("all after block", change["last_block_number"], "is taken back")
            elif (fact := f"{event['block_hash']}/{event['log_index']}") not in seen:
                print(event["name"], event["bounty_id"], event["fields"])
                seen.add(fact)
    if message["type"] == "hub.missed":
        print("what came of blocks after", message["data"]["last_block_number"], "may not hold; it comes again")
    return 204, b""
