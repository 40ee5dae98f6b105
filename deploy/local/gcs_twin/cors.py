"""A bucket's CORS rules, as Google applies them to requests of pages: by origin, method and header.

A rule lists ``origin`` (or ``*``), ``method`` and ``responseHeader``, which names both the headers that a page may send
and those that it may read, and ``maxAgeSeconds``. A request that no rule fits is answered all the same, without the
headers by which a browser would show the answer to the page.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CorsRule:
    """One rule of a bucket."""

    origins: frozenset[str]
    methods: frozenset[str]
    headers: tuple[str, ...]
    max_age: int

    def fits(self, origin: str, method: str) -> bool:
        """Return whether a page of this origin may use this method."""
        return bool({origin, "*"} & self.origins) and method in self.methods

    def allows(self, names: str) -> bool:
        """Return whether it may send all these headers, as ``Access-Control-Request-Headers`` lists them."""
        wanted = {name.strip().lower() for name in names.split(",") if name.strip()}
        return wanted <= {name.lower() for name in self.headers}

    def answer(self, origin: str) -> dict[str, str]:
        """Return headers with which a browser shows the answer to the page."""
        return {
            "Access-Control-Allow-Origin": "*" if "*" in self.origins else origin,
            "Access-Control-Expose-Headers": ", ".join(self.headers),
            "Vary": "Origin",
        }

    def preflight(self, origin: str) -> dict[str, str]:
        """Return headers with which a browser sends the request at all."""
        return {
            "Access-Control-Allow-Origin": "*" if "*" in self.origins else origin,
            "Access-Control-Allow-Methods": ", ".join(sorted(self.methods)),
            "Access-Control-Allow-Headers": ", ".join(self.headers),
            "Access-Control-Max-Age": str(self.max_age),
            "Vary": "Origin",
        }


def parse_rules(text: str) -> tuple[CorsRule, ...]:
    """Parse the rules of a file as ``gcloud storage buckets update --cors-file`` takes it; raises ``ValueError``."""
    try:
        return tuple(
            CorsRule(
                frozenset(rule["origin"]),
                frozenset(rule["method"]),
                tuple(rule["responseHeader"]),
                int(rule["maxAgeSeconds"]),
            )
            for rule in json.loads(text)
        )
    except (KeyError, TypeError) as error:
        raise ValueError("a CORS file is a list of rules") from error


def answer_headers(rules: tuple[CorsRule, ...], method: str, names: Mapping[str, str]) -> dict[str, str]:
    """For the answer to a request with these headers, in lower case."""
    origin = names.get("origin")
    if origin is None:
        return {}
    return next((rule.answer(origin) for rule in rules if rule.fits(origin, method)), {})


def preflight_headers(rules: tuple[CorsRule, ...], names: Mapping[str, str]) -> dict[str, str]:
    """For the answer to a preflight; none if the browser must not go on."""
    origin, method = names.get("origin", ""), names.get("access-control-request-method", "")
    asked = names.get("access-control-request-headers", "")
    return next((rule.preflight(origin) for rule in rules if rule.fits(origin, method) and rule.allows(asked)), {})
