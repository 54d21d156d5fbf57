"""Lets these tests import their helpers by name wherever pytest was started."""

from __future__ import annotations

import sys
from pathlib import Path

_HERE = Path(__file__).parent
sys.path.extend([str(_HERE), str(_HERE.parent / "conformance")])
