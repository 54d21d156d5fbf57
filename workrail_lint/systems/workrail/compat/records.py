"""The result of a normalization: the document, the changes, and what the document could not keep."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from workrail_lint.findings import Finding

if TYPE_CHECKING:
    from workrail_lint.systems.workrail.compat.changes import CompatWarning


class Policy(str, Enum):
    """How to treat the design form: reject it, rewrite it, or rewrite it only where nothing is lost."""

    REJECT = "reject"
    NORMALIZE = "normalize"
    LOSSLESS = "normalize-lossless"


class SideModel:
    """What the design form says and the shipping form has no place for."""

    __slots__ = (
        "agent_role",
        "capabilities",
        "conditions",
        "extension_contract",
        "extension_contracts",
        "feature_configs",
        "kind",
    )

    def __init__(self) -> None:
        self.agent_role: str | None = None
        self.capabilities: dict[str, str] = {}
        self.feature_configs: dict[str, dict[str, str]] = {}
        self.conditions: list[dict[str, str]] = []
        # slot id -> the slot's inputContract and outputContract, those that were written
        self.extension_contracts: dict[str, dict[str, Any]] = {}
        self.kind: str | None = None
        self.extension_contract: dict[str, Any] | None = None


class PointerMap:
    """From a place in the normalized document to its place in the original.

    Everything below a `moved` place moves with it; everything below a `made` place maps to the one place it was made
    from.
    """

    __slots__ = ("_made", "_moved")

    def __init__(self) -> None:
        self._moved: dict[str, str] = {}
        self._made: dict[str, str] = {}

    def moved(self, pointer: str, origin: str) -> None:
        self._moved[pointer] = origin

    def made(self, pointer: str, origin: str) -> None:
        self._made[pointer] = origin

    def __call__(self, pointer: str) -> str:
        prefix = pointer
        while prefix:
            if prefix in self._made:
                return self._made[prefix]
            if prefix in self._moved:
                return self._moved[prefix] + pointer[len(prefix) :]
            prefix = prefix.rpartition("/")[0]
        return pointer


class Normalized:
    """A document in shipping form, or as written where it was valid or could not be rewritten.

    `refused` lists the places left as written because of an error: a schema finding there would repeat that error. It
    is empty under the rejecting policy, where the schema checks the document as written. `step_codes` holds, for each
    step of the normalized document that is not as authored, the codes of the rewrites in order.
    """

    __slots__ = ("document", "errors", "pointer_map", "refused", "side", "step_codes", "warnings")

    def __init__(
        self,
        document: Any,
        *,
        warnings: list[CompatWarning] | None = None,
        errors: list[Finding] | None = None,
        side: SideModel | None = None,
        pointer_map: PointerMap | None = None,
        step_codes: dict[str, tuple[str, ...]] | None = None,
        refused: tuple[str, ...] = (),
    ) -> None:
        self.document = document
        self.warnings = warnings or []
        self.errors = errors or []
        self.side = side or SideModel()
        self.pointer_map = pointer_map or PointerMap()
        self.step_codes = step_codes or {}
        self.refused = refused

    def is_refused(self, original_pointer: str) -> bool:
        """Whether a place of the original is at or below one that an error already covers."""
        return any(original_pointer == place or original_pointer.startswith(place + "/") for place in self.refused)
