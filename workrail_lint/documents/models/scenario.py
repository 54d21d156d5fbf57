"""What scenarios of every kind have in common."""

from __future__ import annotations

from typing import Annotated

from workrail_lint.documents.models.scalars import Text

# A colon or a bracket would be taken for a part of a test id.
Name = Annotated[str, Text(1, 100, r"^[^:\[\]\u0000-\u001f]+$")]
LockId = Annotated[str, Text(1, 128, r"^[a-z0-9]+(-[a-z0-9]+)*$")]
