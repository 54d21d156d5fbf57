"""The command line options of both kinds of coverage, and the plugins they call for.

Imported at every start of pytest, so everything else is imported only when an option asks for it.
"""

from __future__ import annotations

import pytest

MARKER = "enforces(*lock_ids): the design locks that this test would notice being broken"
# What asks something about the locks of a registry.
_ABOUT_A_REGISTRY = (
    "--workrail-locks-check",
    "--workrail-locks-fail-under",
    "--workrail-locks-proven-fail-under",
    "--workrail-lock-report",
    "--workrail-locks-verify",
    "--workrail-lock-record",
    "--workrail-locks-prove",
    "--workrail-locks-accept",
)


def add_options(group: pytest.OptionGroup) -> None:
    """Add the options to a group."""
    _add_workflow_options(group)
    _add_lock_options(group)


def _coverage_view(text: str) -> str:
    if text in ("table", "missing"):
        return text
    from argparse import ArgumentTypeError

    # A path that follows is taken for the value, which nobody means.
    raise ArgumentTypeError(
        f"{text!r} is not missing; a path stands before --workrail-cov, or after --workrail-cov=table"
    )


def percentage(text: str) -> float:
    """A number from 0 to 100; anything else is a slip that would never fail, or always."""
    number = float(text)
    if not 0 <= number <= 100:
        raise ValueError(text)
    return number


def _add_workflow_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--workrail-cov",
        nargs="?",
        const="table",
        type=_coverage_view,
        metavar="missing",
        dest="workrail_cov",
        help="Show how much of each workflow the passing tests have run; `missing` also lists what they have not.",
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
        type=percentage,
        dest="workrail_cov_fail_under",
        help="Fail when the workflow coverage is lower than this.",
    )
    group.addoption(
        "--workrail-cov-source",
        metavar="PATH",
        action="append",
        default=[],
        dest="workrail_cov_source",
        help="Count the workflows of this file or folder even if no test runs them.",
    )


def _add_lock_options(group: pytest.OptionGroup) -> None:
    group.addoption(
        "--workrail-locks",
        metavar="REGISTRY",
        dest="workrail_locks",
        help="Report which design locks of this registry the tests of this run have enforced.",
    )
    group.addoption(
        "--workrail-locks-fail-under",
        metavar="PERCENT",
        type=percentage,
        dest="workrail_locks_fail_under",
        help="Fail when fewer locks than this are enforced.",
    )
    group.addoption(
        "--workrail-locks-check",
        action="store_true",
        dest="workrail_locks_check",
        help="Fail when any lock is not enforced.",
    )
    group.addoption(
        "--workrail-locks-proven-fail-under",
        metavar="PERCENT",
        type=percentage,
        dest="workrail_locks_proven_fail_under",
        help="Fail when fewer locks than this are proven.",
    )
    group.addoption(
        "--workrail-lock-report",
        metavar="FOLDER",
        dest="workrail_lock_report",
        help="Write lock-coverage.json, lock-coverage.md and lock-closure-plan.md to this folder.",
    )
    group.addoption(
        "--workrail-locks-verify",
        action="store_true",
        dest="workrail_locks_verify",
        help="Write no reports; fail when those in the folder are not what this run shows.",
    )
    group.addoption(
        "--workrail-lock-record",
        metavar="FILE",
        dest="workrail_lock_record",
        help="The file with recorded lock texts and proofs (default: beside the registry, `*.record.json`).",
    )
    group.addoption(
        "--workrail-locks-prove",
        action="store_true",
        dest="workrail_locks_prove",
        help="Run only tests that claim locks, then try every sabotage on them, and record what was noticed.",
    )
    group.addoption(
        "--workrail-locks-accept",
        metavar="LOCK",
        action="append",
        default=[],
        dest="workrail_locks_accept",
        help="Record that the tests of this lock enforce its changed text; `all` for every lock.",
    )
    group.addoption(
        "--workrail-sabotages",
        metavar="MODULE",
        action="append",
        default=[],
        dest="workrail_sabotages",
        help="Where sabotages are defined: a module name, a file or a folder of files.",
    )
    group.addoption(
        "--workrail-sabotage",
        metavar="NAME",
        dest="workrail_sabotage",
        help="Run the tests with this sabotage on, to see what they notice.",
    )


def configure(config: pytest.Config) -> None:
    """Register the marker, and what the options ask for."""
    config.addinivalue_line("markers", MARKER)
    option = config.getoption
    if option("collectonly"):
        return  # nothing will run, so there is nothing to measure, to require or to write
    if not option("workrail_locks"):
        _require_registry(config)
    if option("workrail_sabotage") or option("workrail_locks_prove"):
        from pytest_workrail.locks.sabotage_mode import prepare

        prepare(config)
    asked = (option("workrail_cov"), option("workrail_cov_json"), option("workrail_cov_fail_under"))
    if option("workrail_cov_source") or any(each is not None for each in asked):
        from pytest_workrail.coverage.plugin import CoveragePlugin

        config.pluginmanager.register(CoveragePlugin(config), "workrail-coverage")
    if option("workrail_locks"):
        from pytest_workrail.locks.plugin import LockPlugin
        from pytest_workrail.locks.settings import lock_settings

        config.pluginmanager.register(LockPlugin(config, lock_settings(config)), "workrail-locks")


def _require_registry(config: pytest.Config) -> None:
    """Without a registry nothing can be said about locks: a threshold that looks at none would always hold."""
    for name in _ABOUT_A_REGISTRY:
        value = config.getoption(name)
        if value is not None and value is not False and value != []:
            raise pytest.UsageError(f"{name} is about a lock registry: name it with --workrail-locks=REGISTRY")
