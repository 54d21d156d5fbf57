"""What scenarios of every kind have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from workrail_lint.documents.models.base import Closed
from workrail_lint.documents.models.scalars import FilledText, Listed, Maybe, Text

# A colon or a bracket would be taken for a part of a test id.
Name = Annotated[str, Text(1, 100, r"^[^:\[\]\u0000-\u001f]+$")]
LockId = Annotated[str, Text(1, 128, r"^[a-z0-9]+(-[a-z0-9]+)*$")]


class Generated(Closed):
    """Who wrote the file, and what it is there for."""

    by: FilledText = Field(description="The command that wrote it.")
    goals: Maybe[Listed[FilledText]] = Field(None, description="The goals that it shows and no other one does.")
    digest: Annotated[str, Text(71, 71, "^sha256:[0-9a-f]{64}$")] = Field(
        description="Of the file in canonical form, without this member. If it differs, the file was edited."
    )
