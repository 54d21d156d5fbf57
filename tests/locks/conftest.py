"""Lets these tests import the helpers of the tests they stand beside."""

from __future__ import annotations

import sys
from pathlib import Path

_TESTS = Path(__file__).parents[1]
sys.path += [str(_TESTS / name) for name in ("protocol", "store")]
