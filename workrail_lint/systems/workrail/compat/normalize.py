"""The entry point: a cheap test, and the rewrite for the few documents that need it."""

from __future__ import annotations

from typing import Any

from workrail_lint.systems.workrail.compat.records import Normalized, Policy
from workrail_lint.systems.workrail.compat.scan import is_design_form


def normalize(document: Any, policy: Policy | str = Policy.NORMALIZE) -> Normalized:
    """The shipping form of a document, which is never changed itself.

    A document without design-form constructs is returned as the same object.
    """
    policy = Policy(policy)
    if not isinstance(document, dict) or not is_design_form(document):
        return Normalized(document)
    from workrail_lint.systems.workrail.compat.rewrite import rewrite

    return rewrite(document, policy)
