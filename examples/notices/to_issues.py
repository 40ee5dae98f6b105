"""Open an issue for each new bounty of a feed, once: the run of bounties-to-issues.yml.

    GITHUB_TOKEN=… GITHUB_REPOSITORY=owner/name python to_issues.py https://bounties.example/feed.json?tag=parser

Nothing is remembered here: an issue of the label "bounty" with the bounty's address in it says that it is there.
"""

import json
import os
import sys
import urllib.request
from typing import Any

from bounties import Item, read_feed

LABEL = "bounty"


def ask(method: str, path: str, body: object = None) -> Any:
    """GitHub's answer."""
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    headers = {"Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}{path}", data, headers, method=method
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read())


def known_addresses() -> set[str]:
    """The first line of each issue that was opened before, closed ones, too."""
    found, page = set(), 1
    while issues := ask("GET", f"/issues?labels={LABEL}&state=all&per_page=100&page={page}"):
        found |= {(issue["body"] or "").partition("\n")[0].strip() for issue in issues}
        page += 1
    return found


def issue_of(item: Item) -> dict[str, object]:
    """A stranger's title as code, so that it mentions nobody and links nothing."""
    title = item.title.replace("`", "'").replace("@", "@\u200b")
    return {
        "title": title[:200],
        "labels": [LABEL, *item.tags],
        "body": f"{item.url}\n\n`{title}`\n\n`{item.text[:1_000]}`",
    }


def main() -> None:
    """Open what is missing."""
    known = known_addresses()
    for item in read_feed(sys.argv[1]):
        if item.is_new_bounty and item.url not in known:
            ask("POST", "/issues", issue_of(item))


if __name__ == "__main__":
    main()
