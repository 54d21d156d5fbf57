"""What fails a test although no `assert` of it does. Needs no pytest: scenarios are played without it too."""

from __future__ import annotations


class ExpectationFailure(Exception):  # noqa: N818 - reads as what it is in a test report
    """Something a test expects is not so. Counts like a failed assertion."""
