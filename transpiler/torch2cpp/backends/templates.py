"""The backends' templates: files below templates/, rendered strictly."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def root() -> Path:
    """The templates' folder: inside the installed package, or beside it in the repository."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "templates"
    return inside if inside.is_dir() else package.parents[1] / "templates"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(root()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(template: str, **view: Any) -> str:
    """Renders `templates/<template>`; an undefined name in it raises jinja2.UndefinedError."""
    return _environment().get_template(template).render(**view)
