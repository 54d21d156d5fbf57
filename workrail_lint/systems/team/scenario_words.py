"""The closed sets of a team scenario, free of pydantic so that anyone may import them."""

from __future__ import annotations

from enum import Enum


class WriteFault(str, Enum):
    """How a write fails: at once, without a word, or half way."""

    IO_ERROR = "io_error"
    LOST = "lost"
    CORRUPT = "corrupt"


class ReplyFault(str, Enum):
    """How a dispatch fails: it can't be made, nobody comes back, or what comes back is no reply."""

    ERROR = "error"
    TIMEOUT = "timeout"
    INVALID = "invalid"


class Defaults(str, Enum):
    """What an agent does when the scenario does not say."""

    MINIMAL_OK = "minimal-ok"
    NONE = "none"


class CheckResult(str, Enum):
    """How a command of a check ends."""

    PASS = "pass"
    FAIL = "fail"


DEFAULT_SESSION = "2000-01-01_simulated-session"
