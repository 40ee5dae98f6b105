"""Print a mail with what is new, for sendmail; nothing where nothing is. For cron, once a day:

python to_mail.py https://bounties.example/feed.json?search=parser me@example.org | sendmail -t
"""

import sys
from email.message import EmailMessage
from pathlib import Path

from bounties import new_items


def main() -> None:
    """One mail of all that is new, as text."""
    address, to = sys.argv[1:]
    items = list(new_items(address, Path("mailed.json")))
    if not items:
        return
    mail = EmailMessage()
    mail["To"], mail["Subject"] = to, f"Bounties: {len(items)} new"
    mail.set_content("\n\n".join(f"{item.title}\n{item.text}\n{item.url}" for item in items))
    sys.stdout.write(mail.as_string())


if __name__ == "__main__":
    main()
