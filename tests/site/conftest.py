"""Gives these tests a browser."""

from browsers import browser, own_page  # noqa: F401 - fixtures
