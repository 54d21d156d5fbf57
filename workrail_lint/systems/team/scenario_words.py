"""The closed sets of a team scenario, free of pydantic so that every module can import them."""

from __future__ import annotations

from enum import Enum


class WriteFault(str, Enum):
    """How a write fails: with an error, silently, or halfway."""

    IO_ERROR = "io_error"
    LOST = "lost"
    CORRUPT = "corrupt"


class ReplyFault(str, Enum):
    """How a dispatch fails: it can't be sent, no reply arrives, or the reply is invalid."""

    ERROR = "error"
    TIMEOUT = "timeout"
    INVALID = "invalid"


class Defaults(str, Enum):
    """What an agent does if the scenario does not define it."""

    MINIMAL_OK = "minimal-ok"
    NONE = "none"


class CheckResult(str, Enum):
    """How a command of a check ends."""

    PASS = "pass"
    FAIL = "fail"


DEFAULT_SESSION = "2000-01-01_simulated-session"
