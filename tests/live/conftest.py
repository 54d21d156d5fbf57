"""Lets these tests import their project by name wherever pytest was started."""

import sys
from pathlib import Path

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)

from browsers import browser, window  # noqa: E402, F401 - fixtures
from browsers import tab as page  # noqa: E402, F401 - it loads itself again
from live_project import project, serve, studio  # noqa: E402, F401 - fixtures
