"""Values of JSON that this client wrote itself, and that may have been altered since: a journal, an audit's bundle.

Each reader raises ``TypeError`` for another type than its own.
"""


def text_of(value: object) -> str:
    """Text."""
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def whole_of(value: object) -> int:
    """A whole number, as a number or in decimal digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError("not a whole number")
    return value


def list_of(value: object) -> list[object]:
    """A list."""
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def object_of(value: object) -> dict[str, object]:
    """An object."""
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value
