"""The Jinja environment of the project's templates: strict, with the few filters they need."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from torch2cpp.emit.literals import string


def shipped(folder: str) -> Path:
    """A folder that the package ships: inside it when installed, beside it in the repository.

    >>> shipped("templates").name
    'templates'
    """
    package = Path(__file__).resolve().parents[1]
    inside = package / folder
    return inside if inside.is_dir() else package.parents[1] / folder


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Undefined names raise; blocks leave no blank lines behind."""
    env = Environment(
        loader=FileSystemLoader(shipped("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    env.filters["cpp_string"] = string
    env.filters["comment"] = comment
    return env


def comment(text: str) -> str:
    """Text for one line of a C++ comment: no line break, no backslash that would join the next line.

    >>> comment("a\\nb")
    'a b'
    """
    return " ".join(text.replace("\\", "/").split())


def render(template: str, **view: Any) -> str:
    """Renders `templates/<template>`."""
    return environment().get_template(template).render(**view)
