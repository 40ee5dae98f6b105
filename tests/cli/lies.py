"""One field of an answer, altered."""

from collections.abc import Callable


def lie_at(*path: str | int, value: object = None) -> Callable[[dict[str, object]], object]:
    """An answer with one field altered: a number grows, a text changes its last character, ``value`` wins."""

    def alter(answer: dict[str, object]) -> object:
        place: object = answer
        for step in path[:-1]:
            place = place[step]  # type: ignore[index]  # a JSON tree
        old = place[path[-1]]  # type: ignore[index]
        place[path[-1]] = value if value is not None else _other(old)  # type: ignore[index]
        return answer

    return alter


def _other(old: object) -> object:
    if isinstance(old, int):
        return old + 1
    text = str(old)
    return text[:-1] + ("1" if text[-1] != "1" else "2")
