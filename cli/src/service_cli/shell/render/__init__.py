"""Events as text for people: one function for each event, in the module of its command's role.

``printer`` finds an event's text by its name; ``tests/cli/shell/render/test_printer.py`` fails while an event of
``docs/events.md`` has none. Nothing here is imported unless a run prints text.
"""
