"""What an app has for its routes, by its type: each names what it uses."""

from typing import Final, TypeVar, cast

from flask import Flask, current_app

EXTENSION: Final = "service-provided"
T = TypeVar("T")


def provide(app: Flask, *given: object) -> None:
    """Have each of these reachable from the routes of ``app`` by its type."""
    app.extensions.setdefault(EXTENSION, {}).update({type(each): each for each in given})


def provided(kind: type[T]) -> T:
    """Return the one of a type that the app has which answers this request."""
    return cast("T", current_app.extensions[EXTENSION][kind])


def provided_or_none(kind: type[T]) -> T | None:
    """Return the same; None where the app has none."""
    return cast("T | None", current_app.extensions.get(EXTENSION, {}).get(kind))
