"""The command line options of both kinds of coverage. Imported at every start of pytest, so it imports nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def add_options(group: pytest.OptionGroup) -> None:
    """Add the options to a group."""
    _add_workflow_options(group)
    _add_lock_options(group)


def _add_workflow_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--workrail-cov",
        nargs="?",
        const="table",
        choices=("table", "missing"),
        dest="workrail_cov",
        help="Show how much of each workflow the tests have run; `missing` also lists what they have not.",
    )
    group.addoption(
        "--workrail-cov-json",
        metavar="FILE",
        dest="workrail_cov_json",
        help="Write the workflow coverage to this file, with the tests that covered each point.",
    )
    group.addoption(
        "--workrail-cov-fail-under",
        metavar="PERCENT",
        type=float,
        dest="workrail_cov_fail_under",
        help="Fail when the workflow coverage is lower than this.",
    )


def _add_lock_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--workrail-locks",
        metavar="REGISTRY",
        dest="workrail_locks",
        help="Report which design locks of this registry are enforced by the tests of this run.",
    )
