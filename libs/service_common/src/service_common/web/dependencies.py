"""What an app has for its routes, by its type: each names what it uses."""

from typing import Final, TypeVar, cast

from flask import Flask, current_app

EXTENSION: Final = "service-provided"
T = TypeVar("T")


def provide(app: Flask, *given: object) -> None:
    """Make each of these reachable from the routes of ``app`` by its type."""
    app.extensions.setdefault(EXTENSION, {}).update({type(each): each for each in given})


def provided(kind: type[T]) -> T:
    """Return the current app's object of a type."""
    return cast("T", current_app.extensions[EXTENSION][kind])


def provided_or_none(kind: type[T]) -> T | None:
    """Return the current app's object of a type, or None."""
    return cast("T | None", current_app.extensions.get(EXTENSION, {}).get(kind))
