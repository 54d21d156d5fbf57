"""Documents that are no JSON of their own, as a workflow step can submit them: by their sections, lines or files."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Discriminator, RootModel, Tag, create_model

from tools.models.team.backlog import ChangeRequest
from tools.models.team.scalars import Open, RepoPath, Said, SessionName
from tools.models.team.status import SessionStatus
from workrail_lint.documents.models import Array, ByMember, Maybe, OneOf
from workrail_lint.systems.team.documents import TeamKind
from workrail_lint.systems.team.sections import ADVISED, REQUIRED
from workrail_lint.systems.team.vocabulary import Mode

_MaybeSaid = Maybe[Said]


def member_of(section: str) -> str:
    """Return the member that holds a section: `Modules/components` is `modules_components`."""
    return re.sub(r"[^a-z0-9]+", "_", section.lower())


def _document(name: str, about: str, kind: TeamKind, **members: Any) -> type[Open]:
    """Return a model with a member for each section: the required ones, and the advised ones if they are there."""
    fields: dict[str, Any] = dict(members)
    fields |= {member_of(section.name): (Said, ...) for section in REQUIRED.get(kind, ())}
    fields |= {member_of(section.name): (_MaybeSaid, None) for section in ADVISED.get(kind, ())}
    return create_model(name, __base__=Open, __doc__=about, **fields)


SpecDocument = _document("SpecDocument", "A spec by its sections.", TeamKind.SPEC)
ArchitectureDocument = _document("ArchitectureDocument", "A design by its sections.", TeamKind.ARCHITECTURE)
ReportDocument = _document("ReportDocument", "The closing report by its four topics.", TeamKind.REPORT)
AdrDocument = _document("AdrDocument", "A decision record by its sections.", TeamKind.ADR, type=(Literal["adr"], ...))
ResearchDocument = _document(
    "ResearchDocument", "A research report by its sections.", TeamKind.RESEARCH, type=(Literal["research"], ...)
)


class DesignSpecDocument(Open):
    """A design spec, which has no sections of its own."""

    type: Literal["design-spec"]
    text: Said


class SideDocument(
    RootModel[
        Annotated[
            Annotated[AdrDocument, Tag("adr")]  # type: ignore[valid-type]
            | Annotated[ResearchDocument, Tag("research")]  # type: ignore[valid-type]
            | Annotated[DesignSpecDocument, Tag("design-spec")],
            Discriminator(ByMember("type")),
        ]
    ]
):
    """A document beside the main ones."""


class ApprovalHistory(Open):
    """The changes of the design that the user asked for, oldest first."""

    entries: Annotated[tuple[ChangeRequest, ...], Array(1)]


class Session(Open):
    """A session folder: its name, its mode, its state and its files."""

    session: SessionName
    mode: OneOf[Mode]
    status: SessionStatus
    files: Annotated[tuple[RepoPath, ...], Array(1, unique=True)]
