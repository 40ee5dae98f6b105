"""Translations of the pages, made of their catalogue."""

from collections.abc import Callable
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo

from tools.generate.catalogue import extracted


def translate(folder: Path, language: str, change: Callable[[str], str]) -> None:
    """Compile a translation in which every text of the catalogue is changed so."""
    made = Catalog(locale=language.replace("-", "_"))
    for message in extracted():
        if isinstance(message.id, tuple):
            one, many = map(change, message.id)
            made.add(message.id, (one, *[many] * (made.num_plurals - 1)), context=message.context)
        elif message.id:
            made.add(message.id, change(str(message.id)), context=message.context)
    compile_catalogue(folder, made)


def compile_catalogue(folder: Path, made: Catalog) -> None:
    """Write it where the pages look for it."""
    target = folder / str(made.locale_identifier) / "LC_MESSAGES/pages.mo"
    target.parent.mkdir(parents=True)
    with target.open("wb") as file:
        write_mo(file, made)
