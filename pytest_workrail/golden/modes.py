"""What a test run may do to goldens."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_workrail.golden.test_records import GoldenStatus
from pytest_workrail.records import Record
from workrail_lint.base.typed import Enum

if TYPE_CHECKING:
    import pytest


# The variables pytest itself knows a build machine by.
BUILD_MACHINE = ("CI", "BUILD_NUMBER")


class Mode(str, Enum):
    """What somebody asked for with `--workrail-golden`."""

    CHECK = "check"
    NEW = "new"
    UPDATE = "update"
    PRUNE = "prune"


class Policy(Record):
    """What was asked for, and whether this run may write at all."""

    asked: Mode = Mode.CHECK
    may_write: bool = True

    @property
    def mode(self) -> Mode:
        """What is done. A run that may not write compares, so that nothing approves itself."""
        return self.asked if self.may_write else Mode.CHECK

    def writes(self, status: GoldenStatus) -> bool:
        """True when a run may become the golden it was compared with."""
        return self.mode is Mode.UPDATE or (self.mode is Mode.NEW and status is GoldenStatus.MISSING)

    @property
    def is_overruled(self) -> bool:
        return self.mode is not self.asked


def in_ci(environment: Mapping[str, str] = os.environ) -> bool:
    """True on a build machine, unless it says that it is none."""
    if environment.get("CI", "").strip().lower() in ("0", "false", "no", "off"):
        return False
    return any(environment.get(variable) for variable in BUILD_MACHINE)


def policy(config: pytest.Config) -> Policy:
    """What the options and the machine allow."""
    asked = Mode(config.getoption("workrail_golden"))
    return Policy(asked, may_write=bool(config.getoption("workrail_write_in_ci")) or not in_ci())


def add_options(group: pytest.OptionGroup) -> None:
    """The options of the goldens."""
    group.addoption(
        "--workrail-golden",
        choices=[mode.value for mode in Mode],
        default=Mode.CHECK.value,
        dest="workrail_golden",
        help="compare with the goldens (check), write those that are missing (new), also those that differ (update), "
        "or remove unused ones after a full run without failures (prune); default: check",
    )
    group.addoption(
        "--workrail-update-goldens",
        action="store_const",
        const=Mode.UPDATE.value,
        default=Mode.CHECK.value,
        dest="workrail_golden",
        help="the same as --workrail-golden=update",
    )
    group.addoption(
        "--workrail-write-in-ci",
        action="store_true",
        dest="workrail_write_in_ci",
        help="let goldens be written even where the variable CI is set",
    )
