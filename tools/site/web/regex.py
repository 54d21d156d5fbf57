"""A stand-in for `regex` where it can't be installed: the patterns of `re`, without a time limit.

Only the playground uses it: a pattern of an author that takes long is ended with the worker that runs it.
"""

import re

error = re.error
findall = re.findall


class _Pattern:
    def __init__(self, source: str) -> None:
        self._compiled = re.compile(source)

    def search(self, text: str, timeout: float) -> re.Match[str] | None:
        return self._compiled.search(text)

    def match(self, text: str, timeout: float) -> re.Match[str] | None:
        return self._compiled.match(text)


def compile(source: str) -> _Pattern:  # noqa: A001 - its name in `regex`
    """Return a pattern; raise `error` for what only `regex` knows."""
    return _Pattern(source)
