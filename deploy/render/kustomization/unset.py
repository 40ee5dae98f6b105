"""Settings that an operator has still to make, seen in the rendered objects.

It names every value of a ConfigMap that is empty, every public host or bucket that is still a placeholder
(``….example``) and every image of the service that names no registry; each once. It refuses nothing: a first look at an
overlay is harmless.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kustomization.render import Object, containers

PLACEHOLDER: Final = ".example"
OWN_IMAGES: Final = "service-"


def unset(objects: Iterable[Object]) -> list[str]:
    """One sentence for each value."""
    return list(dict.fromkeys(text for each in objects for text in _of(each)))


def _of(each: Object) -> Iterator[str]:
    if each["kind"] == "ConfigMap":
        yield from _of_values(each["metadata"]["name"], each["data"])
    hosts = [rule.get("host", "") for rule in each["spec"]["rules"]] if each["kind"] == "Ingress" else []
    hosts += [listener["hostname"] for listener in each["spec"]["listeners"]] if each["kind"] == "Gateway" else []
    routes = each["spec"]["routes"] if each["kind"] == "IngressRoute" else []
    hosts += [host for route in routes for host in re.findall("Host\\(`([^`]*)`\\)", route["match"])]
    hosts += each["spec"]["dnsNames"] if each["kind"] == "Certificate" else []
    yield from (f"the host of the {each['kind']} is still {host}" for host in hosts if host.endswith(PLACEHOLDER))
    if each["kind"] == "ObjectStore":
        path = each["spec"]["configuration"]["destinationPath"]
        if f"{PLACEHOLDER}/" in path:
            yield f"the destinationPath of the ObjectStore is still {path}"
    for container in containers(each):
        image = container["image"]
        if image.startswith(OWN_IMAGES):
            yield f"the image {image} names no registry"


def _of_values(name: str, data: dict[str, str]) -> Iterator[str]:
    for key, value in data.items():
        if not value:
            yield f"{key} in the ConfigMap {name} is empty"
        elif key.startswith("SERVICE_") and value.endswith(PLACEHOLDER):
            yield f"{key} in the ConfigMap {name} is still {value}"
