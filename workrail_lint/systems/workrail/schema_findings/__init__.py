"""Schema violations as findings.

The validator reports keywords; an author needs to know which field of which step is wrong, what is allowed there, and
what was probably meant. Every violation becomes a finding with the most specific name.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workrail_lint.documents.schema.engine import Violation
    from workrail_lint.findings import Finding

__all__ = ["schema_findings"]


# No one reads more than this; the rest shows once these are fixed.
MAX_FINDINGS = 200


def schema_findings(
    violations: Iterable[Violation], definition: dict[str, Any], most: int = MAX_FINDINGS
) -> list[Finding]:
    """The findings for the violations of a definition, in order, up to a limit."""
    found = list(islice(violations, most))
    if not found:
        return []
    # Imported here, so that only a document with errors pays for it.
    from workrail_lint.systems.workrail.schema_findings.specific import findings_of

    return findings_of(found, definition)
