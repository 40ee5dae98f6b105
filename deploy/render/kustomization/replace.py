"""``replacements`` of a kustomization: a field of one object, written into fields of others.

A path is written with dots: the key of a map, ``[key=value]`` or the place of an element in a list, ``*`` for every
element. With a delimiter, the piece at an index of the field's text is replaced, and the rest stays. A target that
selects no object is passed over, as kustomize does; one whose object lacks the field is refused.
"""

from collections.abc import Iterable, Iterator
from typing import Any


class ReplacementError(Exception):
    """Which replacement does not fit the objects."""


def replace_fields(objects: Iterable[dict[str, Any]], replacement: dict[str, Any]) -> None:
    """Apply one replacement, in place."""
    every = list(objects)
    _refuse_unknown(replacement, {"source", "targets"})
    source = replacement["source"]
    _refuse_unknown(source, {"kind", "name", "fieldPath"})
    chosen = _select(every, source)
    if len(chosen) != 1:
        raise ReplacementError(f"{len(chosen)} objects are the source {source}")
    path = source.get("fieldPath", "metadata.name")
    value = [holder[key] for holder, key in _fields(chosen[0], path)]
    if len(value) != 1:
        raise ReplacementError(f"the source has {len(value)} fields {path}")
    for target in replacement["targets"]:
        _refuse_unknown(target, {"select", "fieldPaths", "options"})
        _refuse_unknown(target["select"], {"kind", "name"})
        _refuse_unknown(target.get("options", {}), {"delimiter", "index"})
        selected = _select(every, target["select"])
        for path in target["fieldPaths"]:
            found = [field for each in selected for field in _fields(each, path)]
            if selected and not found:
                raise ReplacementError(f"no object has {path}")
            for holder, key in found:
                holder[key] = _replaced(holder[key], value[0], target.get("options", {}))


def _refuse_unknown(given: dict[str, Any], known: set[str]) -> None:
    if set(given) - known:
        raise ReplacementError(f"no support for {', '.join(sorted(set(given) - known))}")


def _select(objects: list[dict[str, Any]], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        each
        for each in objects
        if each["kind"] == wanted.get("kind", each["kind"])
        and each["metadata"]["name"] == wanted.get("name", each["metadata"]["name"])
    ]


def _fields(each: dict[str, Any], path: str) -> Iterator[tuple[Any, Any]]:
    """The parents of each field of a path, and its key or place there."""
    holders: list[Any] = [each]
    *steps, last = path.split(".")
    for step in steps:
        holders = [holder[key] for holder in holders for key in _keys(holder, step)]
    yield from ((holder, key) for holder in holders for key in _keys(holder, last))


def _keys(holder: Any, step: str) -> list[Any]:
    if isinstance(holder, dict):
        return [step] if step in holder else []
    if step == "*":
        return list(range(len(holder)))
    if step.isdigit():
        return [int(step)] if int(step) < len(holder) else []
    key, _, value = step.strip("[]").partition("=")
    return [place for place, one in enumerate(holder) if one.get(key) == value]


def _replaced(text: str, value: str, options: dict[str, Any]) -> str:
    if "delimiter" not in options:
        return value
    pieces = text.split(options["delimiter"])
    if options["index"] not in range(len(pieces)):
        raise ReplacementError(f"{text!r} has {len(pieces)} pieces, and none at {options['index']}")
    pieces[options["index"]] = value
    return str(options["delimiter"].join(pieces))
