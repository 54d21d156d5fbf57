"""What a rewrite did to a document, change by change. Imported only where there is something to rewrite."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class Action(str, Enum):
    """What happened to a construct."""

    REWRITE = "rewrite"
    DROP = "drop"
    REJECT = "reject"


class CompatWarning(NamedTuple):
    """One normalization. `pointer` and `before` refer to the document as written."""

    code: str
    pointer: str
    construct: str
    action: Action
    before: Any
    after: Any
    lossy: bool
    removed_in: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The record under its published names."""
        return {
            "code": self.code,
            "pointer": self.pointer,
            "construct": self.construct,
            "action": self.action.value,
            "before": self.before,
            "after": self.after,
            "lossy": self.lossy,
            "removedIn": self.removed_in,
        }
