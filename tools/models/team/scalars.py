"""Leaf types and base classes of team documents. Names are the same in the files as here."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Tag

from workrail_lint.documents.models import AnyText, Array, ByType, Text, spaced
from workrail_lint.systems.team import vocabulary

# Not absolute, no drive, no home folder, no backslash, and no way up.
_REPO_PATH = r"^(?!/|~|[A-Za-z]:|(?:.*/)?\.\.(?:/|$))[^\\]*\S[^\\]*$"
_SESSION_PATH = r"^\.agents-work/[^/]+/(?!(?:.*/)?\.\.(?:/|$))[^\\]+$"

Said = Annotated[str, Text(pattern=r"\S")]
"""A text that says something."""
TaskId = Annotated[str, Text(pattern=vocabulary.TASK_ID)]
TaskRef = Annotated[str, Text(pattern=vocabulary.TASK_REF)]
CriterionId = Annotated[str, Text(pattern=vocabulary.AC_ID)]
SessionName = Annotated[str, Text(pattern=vocabulary.SESSION_NAME)]
Timestamp = Annotated[str, Text(pattern=vocabulary.TIMESTAMP)]
Check = Annotated[str, Text(pattern=vocabulary.CHECK)]
OptionId = Annotated[str, Text(pattern=vocabulary.OPTION_ID)]
RepoPath = Annotated[str, Text(pattern=_REPO_PATH)]
SessionPath = Annotated[str, Text(pattern=_SESSION_PATH)]
Texts = Annotated[tuple[AnyText, ...], Array()]
Paths = Annotated[tuple[RepoPath, ...], Array(unique=True)]


class _Object(BaseModel):
    model_config = ConfigDict(
        field_title_generator=lambda name, field: spaced(field.alias or name),
        frozen=True,
        model_title_generator=lambda model: spaced(model.__name__),
        strict=True,
    )


class Open(_Object):
    """An object that may hold more than it declares."""

    model_config = ConfigDict(extra="allow")


class Shut(_Object):
    """An object that holds what it declares and nothing else."""

    model_config = ConfigDict(extra="forbid")


def one_or_more(item: Any) -> Any:
    """Return a text, or a list of at least one."""
    many = Annotated[tuple[item, ...], Array(1)]
    return Annotated[Annotated[item, Tag("string")] | Annotated[many, Tag("array")], Discriminator(ByType())]


def text_or(model: Any) -> Any:
    """Return a text, or an object of a model."""
    return Annotated[Annotated[AnyText, Tag("string")] | Annotated[model, Tag("object")], Discriminator(ByType())]
