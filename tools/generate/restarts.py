"""docs/operations.md: which Deployments read a ConfigMap or Secret, from the rendered manifests."""

from collections.abc import Iterator
from typing import Final

from kustomization.render import containers, pod_spec, render

from tools.generate.derived import TOP, part, table

_EVERYTHING: Final = "deploy/k8s/overlays/mainnet"


def _table() -> Iterator[str]:
    yield table("| changed | restart |", _rows())


def _rows() -> Iterator[str]:
    """One row for what is read by the same Deployments."""
    read = _read()
    for names in dict.fromkeys(read.values()):
        what = ", ".join(f"{kind} `{name}`" for (kind, name), readers in read.items() if readers == names)
        restart = f"`{' '.join(names)}`" if names else "nothing: each Job reads its own"
        yield f"| {what} | {restart} |"


def _read() -> dict[tuple[str, str], tuple[str, ...]]:
    """The Deployments that read each ConfigMap and Secret; none for what Jobs alone read."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for each in render(TOP / _EVERYTHING):
        pod = pod_spec(each)
        if pod is None or each["kind"] == "StatefulSet":
            continue
        maps = [source["configMapRef"]["name"] for one in containers(each) for source in one.get("envFrom", [])]
        secrets = [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
        for one in dict.fromkeys([*(("ConfigMap", name) for name in maps), *(("Secret", name) for name in secrets)]):
            reader = (each["metadata"]["name"],) if each["kind"] == "Deployment" else ()
            found[one] = found.get(one, ()) + reader
    return dict(sorted(found.items()))


RESTARTS: Final = part("docs/operations.md", "restarts", _table)
