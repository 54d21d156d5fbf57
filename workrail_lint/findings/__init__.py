"""What is reported, as plain data."""

from workrail_lint.findings.finding import Finding, Phase, Position, Severity, Span
from workrail_lint.findings.fix import Edit, Fix, Safety

__all__ = ["Edit", "Finding", "Fix", "Phase", "Position", "Safety", "Severity", "Span"]
