"""Results of comparing goldens, and the policy that says what a run may write."""

from __future__ import annotations

import os
from enum import Enum
from typing import NamedTuple

import pytest
from msgspec import Struct, field

# The variables pytest itself knows a build machine by.
BUILD_MACHINE = ("CI", "BUILD_NUMBER")


class GoldenStatus(str, Enum):
    """How a run compares with its golden."""

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"


class GoldenRecord(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One golden and what a test found. `new` is what it would become; empty where not even its metadata change."""

    path: str
    status: GoldenStatus
    new: str = ""

    @property
    def data(self) -> bytes:
        """The bytes of the file that it would become."""
        return self.new.encode()


class Span(NamedTuple):
    """A stretch of a source file: lines from 1, columns in bytes of UTF-8, as syntax trees count them."""

    line: int
    column: int
    end_line: int
    end_column: int


class InlineRecord(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One call of `run.match` in one test. `new` is the source text that would make it fit; empty where it fits."""

    path: str
    span: Span
    status: GoldenStatus
    digest: str  # of the source that the span is of
    new: str = ""


class GoldensOfTest(Struct):
    """One test: whether all of it passed, and the goldens it claimed, each once."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    passed: bool = False
    records: list[GoldenRecord] = field(default_factory=list)
    inline: list[InlineRecord] = field(default_factory=list)


class Mode(str, Enum):
    """The value of `--workrail-golden`."""

    CHECK = "check"
    NEW = "new"
    UPDATE = "update"
    PRUNE = "prune"


class Policy(Struct, frozen=True):
    """The requested mode, and whether this run may write at all."""

    asked: Mode = Mode.CHECK
    may_write: bool = True

    @property
    def mode(self) -> Mode:
        """The effective mode. A run that may not write only compares, so that no change approves itself."""
        return self.asked if self.may_write else Mode.CHECK

    def writes(self, status: GoldenStatus) -> bool:
        """Return True when a run may become the golden it was compared with."""
        return self.mode is Mode.UPDATE or (self.mode is Mode.NEW and status is GoldenStatus.MISSING)

    @property
    def is_overruled(self) -> bool:
        return self.mode is not self.asked


def in_ci() -> bool:
    """Return True on a build machine, unless it says that it is none."""
    if os.environ.get("CI", "").strip().lower() in ("0", "false", "no", "off"):
        return False
    return any(os.environ.get(variable) for variable in BUILD_MACHINE)


def policy(config: pytest.Config) -> Policy:
    """Return what the options and the machine allow."""
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
