"""What breaks the schema, messages in the author's words.

The validator reports keywords; an author wants to know which member of which step, what would be right, and
what was probably meant. Every violation becomes a finding under the most specific name there is for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workrail_lint.documents.structure import Violation
    from workrail_lint.findings import Finding

__all__ = ["schema_findings"]


# Nobody reads more than this; what is left shows once these are mended.
MAX_FINDINGS = 200


def schema_findings(
    violations: Iterable[Violation], definition: dict[str, Any], most: int = MAX_FINDINGS
) -> list[Finding]:
    """The findings for the violations of a definition, in their order, as many as anybody would read."""
    found = list(islice(violations, most))
    if not found:
        return []
    # Only a document with errors pays for the words.
    from workrail_lint.systems.workrail.schema_findings.specific import findings_of

    return findings_of(found, definition)
