"""The texts below the attributes of a class, of which pages make tables."""

import ast
import inspect
from itertools import pairwise


def attribute_texts(kind: type) -> dict[str, str]:
    """The text below each attribute of a class or member of an enumeration, its first paragraph, in one line."""
    lines = next(each.body for each in ast.walk(ast.parse(inspect.getsource(kind))) if isinstance(each, ast.ClassDef))
    found = {}
    for attribute, text in pairwise(lines):
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            paragraph = " ".join(str(text.value.value).partition("\n\n")[0].split())
            if isinstance(attribute, ast.AnnAssign):
                found[ast.unparse(attribute.target)] = paragraph
            elif isinstance(attribute, ast.Assign):
                found |= dict.fromkeys(map(ast.unparse, attribute.targets), paragraph)
    return found


def as_cell(text: str) -> str:
    """A sentence as the cell of a table."""
    return text[:1].lower() + text[1:].rstrip(".")
