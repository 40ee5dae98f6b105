"""A receiver that the local stack's Poster has registered for every fact of the Hub."""

import json

import urllib3
from local_stack.process import StackError
from local_stack.stack import Stack
from service_cli.library import sign_request

from tests.api.webhooks.receiving import Receiving


def register(stack: Stack, receiver: Receiving) -> None:
    """Have it told of everything, within seconds of its block; waits until it was proven to be the Poster's."""
    body = json.dumps({"url": receiver.url(), "all_bounties": True, "finality": "unsafe"}).encode()
    url, poster = f"{stack.api_base_url}/api/webhooks", stack.people.poster.wallet
    headers = sign_request(
        "POST", url, body, rpc_url=stack.anvil.url, hub_address=stack.hub.hub.address,
        private_key=bytes.fromhex(poster.private_key.removeprefix("0x")),
    )  # fmt: skip
    headers = {**headers, "Content-Type": "application/json"}
    answer = urllib3.request("POST", url, body=body, headers=headers, retries=False)
    if answer.status not in {200, 201}:
        raise StackError(f"the webhook was not registered: {answer.data.decode()}")
    receiver.wait_for("webhook.challenge")
