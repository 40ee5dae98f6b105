"""Post new bounties to Slack, Discord or ntfy: run it every few minutes.

    CHAT_ADDRESS=https://hooks.slack.com/services/… python to_chat.py slack https://bounties.example/feed.json?tag=parser

CHAT_ADDRESS is the incoming webhook of Slack or Discord, or the topic of ntfy; it is a secret, so it is no argument.
What was posted is remembered in seen.json.
"""

import json
import os
import re
import sys
import urllib.request
from pathlib import Path

from bounties import Item, new_items


def slack(item: Item) -> tuple[dict[str, str], bytes]:
    """Text in which nothing is a mention or a link of a stranger's."""
    title = item.title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    body = {"text": f"<{item.url}|{title.replace('|', '¦')}>", "unfurl_links": False}
    return {"Content-Type": "application/json"}, json.dumps(body).encode()


def discord(item: Item) -> tuple[dict[str, str], bytes]:
    """Text without its marks, in which nobody is mentioned."""
    title = re.sub(r"([\\`*_~|>\[\]()#-])", r"\\\1", item.title)
    body = {"content": f"{title[:1_500]}\n<{item.url}>", "allowed_mentions": {"parse": []}}
    return {"Content-Type": "application/json"}, json.dumps(body).encode()


def ntfy(item: Item) -> tuple[dict[str, str], bytes]:
    """The title as the message: a header holds no other letters than those of ASCII."""
    return {"Title": "New bounty", "Click": item.url}, item.title.encode()


def main() -> None:
    """Post what is new; a refusal ends it, and the next run goes on there."""
    make = {"slack": slack, "discord": discord, "ntfy": ntfy}[sys.argv[1]]
    for item in new_items(sys.argv[2], Path("seen.json")):
        if item.is_new_bounty:
            headers, body = make(item)
            request = urllib.request.Request(os.environ["CHAT_ADDRESS"], body, headers, method="POST")
            urllib.request.urlopen(request, timeout=30).close()


if __name__ == "__main__":
    main()
