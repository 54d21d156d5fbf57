"""`python -m pytest_workrail.cli`."""

import sys

from pytest_workrail.cli import main

if __name__ == "__main__":
    sys.exit(main())
