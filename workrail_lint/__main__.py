"""`python -m workrail_lint`."""

import sys

from workrail_lint.cli import main

sys.exit(main())
