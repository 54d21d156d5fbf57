"""`python -m workrail_lint`."""

import os
import sys

# Python puts the current folder first on the path. It holds what is checked, which is not for us to import.
if sys.path and os.path.abspath(sys.path[0]) == os.getcwd() and not sys.flags.safe_path:
    del sys.path[0]

from workrail_lint.cli import main

sys.exit(main())
