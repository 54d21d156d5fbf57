"""Whether a test asserted anything.

In order of strength: an `assert` that was seen to pass while the test ran (pytest tells when the ini value
`enable_assertion_pass_hook` is set); a matcher of this plugin that was called; an expectation that leaves no trace when
it is met, read from the source (`pytest.raises`, `assert...` methods). Without that ini value `assert` statements are
read from the source too. What can't fail, such as `assert True`, never counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pytest

from pytest_workrail.coverage.locks.vacuity import is_vacuous

_HOOK = "enable_assertion_pass_hook"
_noted: ContextVar[list[str] | None] = ContextVar("workrail_noted_assertions", default=None)


def note_assertion(what: str) -> None:
    """Say that the running test has just compared something; for matchers, which use no `assert` of the test."""
    noted = _noted.get()
    if noted is not None:
        noted.append(what)


class AssertionWatch:
    """Watches one test at a time."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._sees_statements = bool(config.getini(_HOOK))
        self._is_calling = False
        self._seen = False

    @contextmanager
    def around(self) -> Iterator[None]:
        """Listen to passing assertions while a test runs. Other tests then pay nothing for it."""
        self._config.pluginmanager.register(self)
        try:
            yield
        finally:
            self._config.pluginmanager.unregister(self)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """The test itself runs, not what prepares or cleans up."""
        noted: list[str] = []
        token = _noted.set(noted)
        self._is_calling, self._seen = True, False
        try:
            yield
        finally:
            _noted.reset(token)
            self._is_calling = False
            self._seen = self._seen or bool(noted)

    def pytest_assertion_pass(self, orig: str) -> None:
        if self._is_calling and not self._seen and not is_vacuous(orig):
            self._seen = True

    def asserted(self, item: pytest.Item) -> bool:
        """Whether the test that has just been called asserted anything."""
        if self._seen or not isinstance(item, pytest.Function):
            return self._seen
        from pytest_workrail.coverage.locks.reading import Expectation, expectations

        found = expectations(item.function)
        return Expectation.CALL in found or (Expectation.STATEMENT in found and not self._sees_statements)
