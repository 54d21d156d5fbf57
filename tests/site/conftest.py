"""Gives these tests a browser."""

from browsers import browser, tab, window  # noqa: F401 - fixtures
