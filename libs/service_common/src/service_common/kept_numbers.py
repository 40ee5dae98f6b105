"""Whole numbers that Redis keeps for others: whoever can write there can put anything in their place."""


def kept_number(kept: object, most: int) -> int | None:
    """The number; None for what is none, or is above ``most``."""
    if not isinstance(kept, bytes) or not kept.isdigit() or len(kept) > len(str(most)):
        return None
    number = int(kept)
    return number if number <= most else None
