"""The project that these tests run pytest on; its helper is found by name wherever pytest was started."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.append(str(Path(__file__).parent))

if TYPE_CHECKING:
    from plugin_project import Project


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """The project."""
    from plugin_project import Project

    return Project(pytester)
