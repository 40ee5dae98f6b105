"""Strategic merge patches, as far as these manifests need them.

Maps merge key by key, and ``null`` deletes a key. Lists of objects that Kubernetes merges by a key (containers,
environment, ports, volumes, mounts) merge by it; every other list is replaced whole.
"""

from collections.abc import Mapping
from typing import Any, Final

_LIST_KEYS: Final = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}


def merged(base: Any, patch: Any, field: str = "") -> Any:
    """``base`` with ``patch`` applied; neither is changed."""
    if isinstance(base, Mapping) and isinstance(patch, Mapping):
        kept = {key: value for key, value in base.items() if not (key in patch and patch[key] is None)}
        added = {key: merged(kept.get(key), value, key) for key, value in patch.items() if value is not None}
        return {**kept, **added}
    key = _LIST_KEYS.get(field)
    if key and isinstance(base, list) and isinstance(patch, list) and all(key in each for each in [*base, *patch]):
        return _merged_list(base, patch, key, field)
    return patch


def _merged_list(base: list[Any], patch: list[Any], key: str, field: str) -> list[Any]:
    """The items that the patch names, in its order, then the rest: the order that kustomize gives."""
    known = {each[key]: each for each in base}
    named = {each[key] for each in patch}
    return [
        *(merged(known.get(each[key]), each, field) for each in patch),
        *(each for each in base if each[key] not in named),
    ]
