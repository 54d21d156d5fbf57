"""The standard library's C scanner, for texts and for single tokens. Its names are undocumented, and used only here.

The rest of `json` stays out of it: its regular expressions take longer to compile than a clean file takes to read.
"""

from __future__ import annotations

from collections.abc import Callable

from workrail_lint.base.patterns import Pattern
from workrail_lint.base.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def make_scanner(reading: object) -> Callable[[str, int], tuple[Any, int]]: ...
    def scanstring(text: str, at: int, strict: bool) -> tuple[str, int]: ...
else:
    try:
        from _json import make_scanner, scanstring
    except ImportError:  # a Python without the C scanner
        from json import JSONDecoder
        from json.decoder import scanstring

        def make_scanner(reading):
            return JSONDecoder(**vars(reading)).scan_once


class _Reading:
    """How values are made, under the names that the scanner asks for."""

    strict = True
    object_hook = None

    def __init__(
        self,
        object_pairs_hook: Callable[[list[tuple[str, Any]]], object] | None = None,
        parse_int: Callable[[str], object] = int,
        parse_float: Callable[[str], object] = float,
        parse_constant: Callable[[str], object] = float,
    ) -> None:
        self.object_pairs_hook = object_pairs_hook
        self.parse_int = parse_int
        self.parse_float = parse_float
        self.parse_constant = parse_constant


_scan = make_scanner(_Reading())
_SPACE = Pattern(r"[ \t\n\r]*")


def loads(data: bytes | str, **hooks: Callable[..., object]) -> Any:
    """What `json.loads` makes of a text. Raises ValueError for one that is not JSON, and RecursionError."""
    text = data if isinstance(data, str) else str(data, "utf-8", "surrogatepass")
    scan = make_scanner(_Reading(**hooks)) if hooks else _scan
    try:
        start = 0 if text.startswith("{") else skip_space(text, 0)
        try:
            value, end = scan(text, start)
        except SystemError:
            value, end = _again(scan, text, start)
    except StopIteration as at:
        raise ValueError(f"no value at {at}") from None
    if text[end:].strip(" \t\n\r"):
        raise ValueError(f"more than one value: the first ends at {end}")
    return value


def read_string(text: str, at: int) -> tuple[str, int]:
    """The string whose opening quote is at `at`, and the offset after its closing quote.

    Raises JSONDecodeError for a string that breaks JSON's rules.
    """
    try:
        return scanstring(text, at + 1, True)
    except SystemError:
        return _again(scanstring, text, at + 1, True)


def skip_space(text: str, at: int) -> int:
    """The offset of the first character from `at` on that is not white space."""
    found = _SPACE.match(text, at)
    assert found is not None  # if only an empty stretch
    return found.end()


def skip_value(text: str, at: int) -> int:
    """The offset after the value that starts at `at`, which must be well-formed."""
    try:
        return _scan(text, at)[1]
    except SystemError:
        return _again(_scan, text, at)[1]


def _again(call: Callable[..., tuple[Any, int]], *arguments: object) -> tuple[Any, int]:
    """What the scanner answers. Python 3.11's fails without an error unless the module with its error is loaded."""
    import json.decoder  # noqa: F401 - for the scanner

    return call(*arguments)
