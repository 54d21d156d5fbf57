"""What is reported, as plain data."""

from workrail_lint.documents.source_text import Edit, Position, Span
from workrail_lint.findings.finding import Finding, Phase, Severity, unreadable
from workrail_lint.findings.fix import Fix, Safety

__all__ = ["Edit", "Finding", "Fix", "Phase", "Position", "Safety", "Severity", "Span", "unreadable"]
