"""Events as text for people: the screen, what the texts of events share, and the longest of them.

The text of an event is its own (``ui/event.py``). Nothing here is imported unless a command runs.
"""
