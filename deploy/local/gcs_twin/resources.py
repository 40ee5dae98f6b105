"""An object's facts in the two shapes that Google Cloud Storage has for them."""

from typing import Final
from urllib.parse import quote

from gcs_twin.objects import Stored

JSON_PATH: Final = "/storage/v1/b/"


def facts_headers(facts: Stored) -> dict[str, str]:
    """Return the headers of an object in the XML interface and of every download."""
    return {
        "ETag": f'"{facts.generation}"',
        "x-goog-generation": str(facts.generation),
        "x-goog-metageneration": "1",
        "x-goog-hash": f"crc32c={facts.crc32c},md5={facts.md5}",
        "x-goog-stored-content-length": str(facts.size),
        "x-goog-stored-content-encoding": facts.content_encoding or "identity",
        **({"Cache-Control": facts.cache_control} if facts.cache_control else {}),
    }


def resource(facts: Stored) -> dict[str, object]:
    """Return the object resource of the JSON interface."""
    path = f"{JSON_PATH}{facts.bucket}/o/{quote(facts.name, safe='')}"
    value: dict[str, object] = {
        "kind": "storage#object",
        "id": f"{facts.bucket}/{facts.name}/{facts.generation}",
        "selfLink": path,
        "name": facts.name,
        "bucket": facts.bucket,
        "generation": str(facts.generation),
        "metageneration": "1",
        "contentType": facts.content_type,
        "size": str(facts.size),
        "md5Hash": facts.md5,
        "crc32c": facts.crc32c,
        "etag": str(facts.generation),
        "timeCreated": facts.created,
        "updated": facts.created,
        "storageClass": "STANDARD",
        "metadata": facts.custom,
    }
    if facts.content_encoding:
        value["contentEncoding"] = facts.content_encoding
    return value
