"""What all tests share: pytest's own bench for plugins."""

from __future__ import annotations

pytest_plugins = ["pytester"]
