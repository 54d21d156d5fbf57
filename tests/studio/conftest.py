"""Lets these tests import their samples by name wherever pytest was started."""

import sys
from pathlib import Path

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)

from browsers import _shared_page, browser, page, tab, window  # noqa: E402, F401 - fixtures
