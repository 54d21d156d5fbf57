"""Lets these tests import their helpers by name wherever pytest was started."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
