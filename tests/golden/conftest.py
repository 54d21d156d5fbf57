"""Lets these tests import their helpers by name wherever pytest was started, and gives them a suite to run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from browsers import browser, tab, window  # noqa: F401 - fixtures

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> object:
    """A small suite with goldens."""
    from golden_suite import Suite, environment

    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    return Suite(pytester)
