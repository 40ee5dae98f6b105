"""One kustomization to Kubernetes objects.

Order as kustomize applies it: resources, components, generators, patches, namespace, labels, images, replacements.
Raises ``RenderError`` for a field that is not supported, a patch or replacement that fits nothing, and two objects of
the same name.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from kustomization.merge import merged
from kustomization.replace import ReplacementError, replace_fields

Object = dict[str, Any]
ENTRANCES: Final = ("gateway", "ingress", "traefik")
"""Components of which an overlay has exactly one: how requests come in."""
_FIELDS: Final = frozenset(
    {"apiVersion", "kind", "resources", "components", "configMapGenerator", "generatorOptions", "patches"}
    | {"namespace", "labels", "images", "replicas", "replacements"}
)
_CLUSTER_WIDE: Final = frozenset(
    {"Namespace", "PriorityClass", "ClusterRole", "ClusterRoleBinding", "PersistentVolume", "StorageClass"}
)


class RenderError(Exception):
    """The part of a kustomization that cannot be rendered."""


def render(
    folder: Path,
    images: Sequence[Object] = (),
    entrance: str | None = None,
    answers: Mapping[str, str] = MappingProxyType({}),
) -> list[Object]:
    """Every object of the kustomization in ``folder``, in order; ``images`` win over its own, in the same form.

    With ``entrance``, as if the line of the overlay that names one of ``ENTRANCES`` named this one. ``answers`` are
    values of settings that its ConfigMaps have, in place of theirs.
    """
    objects = _apply(folder, [], images, entrance, answers)
    seen: set[tuple[str, str]] = set()
    for each in objects:
        if _identity(each) in seen:
            raise RenderError(f"{folder.name}: two objects {' '.join(_identity(each))}")
        seen.add(_identity(each))
    return objects


def _apply(
    folder: Path, objects: list[Object], images: Sequence[Object], entrance: str | None, answers: Mapping[str, str]
) -> list[Object]:
    """The objects so far, with one kustomization or component applied; ``images`` win over those it names."""
    spec = _read(folder)
    named = {each["name"]: each for each in (*spec.get("images", []), *images)}
    for name in spec.get("resources", []):
        path = folder / name
        objects = objects + (_apply(path, [], (), entrance, answers) if path.is_dir() else list(_documents(path)))
    for name in spec.get("components", []):
        component = folder / name
        if entrance is not None and component.name in ENTRANCES:
            component = component.with_name(entrance)
        objects = _apply(component, objects, (), None, answers)
    objects = objects + [_config_map(folder, each, spec, answers) for each in spec.get("configMapGenerator", [])]
    for patch in spec.get("patches", []):
        objects = _patched(folder, objects, patch)
    for each in spec.get("replicas", []):
        _find(folder, objects, "Deployment", each["name"])["spec"]["replicas"] = each["count"]
    for each in objects:
        _label(each, spec)
        _name_images(each, named)
    for replacement in spec.get("replacements", []):
        try:
            replace_fields(objects, replacement)
        except ReplacementError as error:
            raise RenderError(f"{folder.name}: {error}") from error
    return objects


def _read(folder: Path) -> Object:
    spec = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    unknown = set(spec) - _FIELDS
    if unknown:
        raise RenderError(f"{folder.name}: no support for {', '.join(sorted(unknown))}")
    return dict(spec)


def _documents(path: Path) -> Iterator[Object]:
    yield from (each for each in yaml.safe_load_all(path.read_text(encoding="utf-8")) if each is not None)


def _config_map(folder: Path, wanted: Object, spec: Object, answers: Mapping[str, str]) -> Object:
    if not (spec.get("generatorOptions") or {}).get("disableNameSuffixHash"):
        raise RenderError(f"{folder.name}: generated names with a hash are not supported")
    data: dict[str, str] = {}
    for name in wanted.get("envs", []):
        for line in (folder / name).read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                key, _, value = line.partition("=")
                data[key] = value
    for literal in wanted.get("literals", []):
        key, _, value = literal.partition("=")
        data[key] = value
    for name in wanted.get("files", []):
        data[Path(name).name] = (folder / name).read_text(encoding="utf-8")
    data = {key: answers.get(key, value) for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": wanted["name"]}, "data": data}


def _patched(folder: Path, objects: list[Object], patch: Object) -> list[Object]:
    if set(patch) - {"path", "patch", "target"}:
        raise RenderError(f"{folder.name}: a patch has path or patch, and target")
    text = patch["patch"] if "patch" in patch else (folder / patch["path"]).read_text(encoding="utf-8")
    change = yaml.safe_load(text)
    target = patch.get("target") or {"kind": change["kind"], "name": change["metadata"]["name"]}
    change = {key: value for key, value in change.items() if key not in {"apiVersion", "kind"}}
    change.get("metadata", {}).pop("name", None)
    fitting = [each for each in objects if _fits(each, target)]
    if not fitting:
        raise RenderError(f"{folder.name}: a patch fits no object: {target}")
    return [merged(each, change) if _fits(each, target) else each for each in objects]


def _fits(each: Object, target: Object) -> bool:
    if set(target) - {"kind", "name"}:
        raise RenderError("a patch target has kind and name only")
    kind, name = _identity(each)
    return (kind, name) == (target.get("kind", kind), target.get("name", name))


def _find(folder: Path, objects: list[Object], kind: str, name: str) -> Object:
    for each in objects:
        if _identity(each) == (kind, name):
            return each
    raise RenderError(f"{folder.name}: there is no {kind} {name}")


def _label(each: Object, spec: Object) -> None:
    if "namespace" in spec and each["kind"] not in _CLUSTER_WIDE:
        each["metadata"]["namespace"] = spec["namespace"]
    for group in spec.get("labels", []):
        if group.get("includeSelectors") or not set(group) <= {"pairs", "includeSelectors", "includeTemplates"}:
            raise RenderError("labels have pairs, and includeTemplates; selectors are written out")
        each["metadata"].setdefault("labels", {}).update(group["pairs"])
        for template in _labelled(each) if group.get("includeTemplates") else ():
            template.setdefault("metadata", {}).setdefault("labels", {}).update(group["pairs"])


def _name_images(each: Object, images: Mapping[str, Object]) -> None:
    for container in containers(each):
        name = container["image"].partition(":")[0].partition("@")[0]
        if name in images:
            container["image"] = _reference(images[name])


def _reference(wanted: Object) -> str:
    name = wanted.get("newName", wanted["name"])
    return f"{name}@{wanted['digest']}" if "digest" in wanted else f"{name}:{wanted['newTag']}"


def _templates(each: Object) -> list[Object]:
    """The pod templates of an object: none or one."""
    spec = each.get("spec") or {}
    if each["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    return [spec["template"]] if isinstance(spec, dict) and "template" in spec and "spec" in spec["template"] else []


def _labelled(each: Object) -> list[Object]:
    """Every template whose labels follow the object's."""
    return ([each["spec"]["jobTemplate"]] if each["kind"] == "CronJob" else []) + _templates(each)


def containers(each: Object) -> list[Object]:
    """Every container of an object, those that only prepare included."""
    return [
        container
        for template in _templates(each)
        for field in ("initContainers", "containers")
        for container in template["spec"].get(field, [])
    ]


def pod_spec(each: Object) -> Object | None:
    """The pod an object runs, if any."""
    return next((template["spec"] for template in _templates(each)), None)


def pod_labels(each: Object) -> dict[str, str]:
    """Labels of the pods an object runs."""
    return next((dict(template["metadata"]["labels"]) for template in _templates(each)), {})


def _identity(each: Object) -> tuple[str, str]:
    return str(each["kind"]), str(each["metadata"]["name"])
