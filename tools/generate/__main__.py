"""``./noxw -s generate`` writes everything that is derived; with ``-- --check`` it names what differs."""

from tools.generate.events import page
from tools.generate.pages import write_part

write_part("docs/events.md", "events", page())
