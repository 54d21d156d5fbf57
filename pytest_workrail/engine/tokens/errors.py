"""Why a token is rejected: a closed set of codes, returned as values."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

TokenErrorCode: TypeAlias = Literal[
    "TOKEN_INVALID_FORMAT",
    "TOKEN_UNSUPPORTED_VERSION",
    "TOKEN_BAD_SIGNATURE",
    "TOKEN_SCOPE_MISMATCH",
    "TOKEN_UNKNOWN_NODE",
    "TOKEN_WORKFLOW_HASH_MISMATCH",
    "TOKEN_SESSION_LOCKED",
]


class TokenError(Struct, frozen=True):
    """Why a token was refused."""

    code: TokenErrorCode
    message: str


def invalid_format(message: str) -> TokenError:
    """Not a token of the shape or kind that was asked for."""
    return TokenError("TOKEN_INVALID_FORMAT", message)


def bad_signature(message: str) -> TokenError:
    """Signed by nobody we know: forged, or older than the previous key."""
    return TokenError("TOKEN_BAD_SIGNATURE", message)
