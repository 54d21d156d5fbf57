"""Canonical JSON (RFC 8785) and the digests made from it: the only way to a hash.

Several routes, one result. Most documents hold nothing on which an ordinary encoder and RFC 8785 differ, and a
cheap look proves it: the standard library's encoder serves the first few, orjson a process that hashes many. What
remains goes to the rfc8785 package; and lone surrogates, which RFC 8785 refuses but the reference engine hashes
as an escape, are written here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from json.encoder import JSONEncoder, encode_basestring
from typing import Any

from workrail_lint.base import js

NON_FINITE = "CANONICAL_JSON_NON_FINITE_NUMBER"
UNSUPPORTED = "CANONICAL_JSON_UNSUPPORTED_VALUE"
Encoder = Callable[[object], bytes]


class CanonicalError(ValueError):
    """A value that has no canonical form. `code` is one of NON_FINITE and UNSUPPORTED."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def canonical_bytes(value: object) -> bytes:
    """Return the RFC 8785 bytes of a JSON value. Raises CanonicalError when it has none."""
    if is_plain(value):
        try:
            return _encode_plain(value)
        except (TypeError, UnicodeEncodeError, RecursionError):
            pass  # a lone surrogate, or nesting deeper than an encoder goes
    import rfc8785  # here, because few documents get this far

    try:
        return rfc8785.dumps(value)  # type: ignore[arg-type]
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError):
        return _canonical_text(value).encode()


def canonical_record(value: object) -> bytes:
    """Return the canonical bytes of a value that is known to hold no float, no huge integer and no astral name."""
    try:
        return _encode_plain(value)
    except (TypeError, UnicodeEncodeError, RecursionError):
        return canonical_bytes(value)


def _encode_plain(value: object) -> bytes:
    """Return the bytes of a value that is known to be plain. Importing orjson pays off only where much is hashed."""
    global _encoded, _fast_encode
    if _fast_encode is not None:
        return _fast_encode(value)
    data = _encoder()(value).encode()
    _encoded += len(data)
    if _encoded > _WORTH_AN_IMPORT:
        _fast_encode = _orjson_encoder()
    return data


@cache
def _encoder() -> Callable[[object], str]:
    return JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False).encode


def _orjson_encoder() -> Encoder:
    import orjson

    return partial(orjson.dumps, option=orjson.OPT_SORT_KEYS)


_WORTH_AN_IMPORT = 200_000  # bytes
_encoded = 0
_fast_encode: Encoder | None = None


def is_plain(root: object) -> bool:
    """Return whether the standard encoder's bytes are the canonical ones.

    They are as long as there is no float (spelling differs), no integer beyond 2**53 (precision
    differs), no value outside JSON, and no astral member name (order differs). Lone surrogates
    surface when the text is encoded.
    """
    level: list[Any] = [root]
    while level:
        kinds = set(map(type, level))
        if not kinds <= _PLAIN_KINDS:
            return False
        below: list[Any] = []
        if dict in kinds:
            objects = [value for value in level if type(value) is dict]
            try:
                names = "".join(map("".join, objects))
            except TypeError:
                return False  # a non-string key
            if not names.isascii() and max(names) >= "\ue000":
                return False
            for value in objects:
                below += value.values()
        if int in kinds:
            integers = [value for value in level if type(value) is int]
            if min(integers) < -js.MAX_SAFE_INTEGER or max(integers) > js.MAX_SAFE_INTEGER:
                return False
        if list in kinds:
            for value in level:
                if type(value) is list:
                    below += value
        level = [value for value in below if type(value) is not str]
    return True


_PLAIN_KINDS = {dict, list, str, int, bool, type(None)}


def digest(data: bytes) -> str:
    """Return `sha256:` and the lower-case hex digest of some bytes."""
    import hashlib  # here, because a clean check hashes nothing and OpenSSL takes a while to load

    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical_hash(value: object) -> str:
    """Return the digest of a value's canonical bytes."""
    return digest(canonical_bytes(value))


def hash_ref(workflow_hash: str) -> str:
    """Return the short reference `wf_…`: base32 of the digest's first 16 bytes."""
    name, _, digits = workflow_hash.partition(":")
    if name != "sha256" or len(digits) != 64 or digits.strip("0123456789abcdef"):
        raise CanonicalError("WORKFLOW_HASH_INVALID_FORMAT", f"not a workflow hash: {workflow_hash!r}")
    import base64

    raw = bytes.fromhex(workflow_hash[7:39])
    return "wf_" + base64.b32encode(raw).decode().rstrip("=").lower()


class _Literal:
    """Finished output waiting on the work stack, apart from the string values still to be written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_CLOSE_OBJECT, _CLOSE_ARRAY = _Literal("}"), _Literal("]")


def _canonical_text(root: object) -> str:
    """Return the canonical text exactly by the standard, iteratively, with the engine's surrogate escape."""
    out: list[str] = []
    stack: list[object] = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, _Literal):
            out.append(value.text)
        elif isinstance(value, str):
            out.append(_string(value))
        elif value is None:
            out.append("null")
        elif value is True:
            out.append("true")
        elif value is False:
            out.append("false")
        elif isinstance(value, int | float):
            out.append(_number(value))
        elif isinstance(value, dict):
            out.append("{")
            stack.append(_CLOSE_OBJECT)
            names = _sorted_names(value)
            for index, name in zip(range(len(names) - 1, -1, -1), reversed(names), strict=True):
                stack.append(value[name])
                stack.append(_Literal(f"{',' if index else ''}{_string(name)}:"))
        elif isinstance(value, list | tuple):
            out.append("[")
            stack.append(_CLOSE_ARRAY)
            for index in range(len(value) - 1, -1, -1):
                stack.append(value[index])
                if index:
                    stack.append(_Literal(","))
        else:
            raise CanonicalError(UNSUPPORTED, f"not a JSON value: {type(value).__name__}")
    return "".join(out)


def _sorted_names(value: dict[object, object]) -> list[str]:
    names: list[str] = []
    for name in value:
        if not isinstance(name, str):
            raise CanonicalError(UNSUPPORTED, f"a member name must be text, not {type(name).__name__}")
        names.append(name)
    return js.u16_sorted(names)


def _number(value: int | float) -> str:
    text = js.number_text(value)
    if not text[-1].isdigit():
        raise CanonicalError(NON_FINITE, f"{text} can not be written as JSON")
    return text


def _string(text: str) -> str:
    quoted = encode_basestring(text)
    try:
        quoted.encode()
    except UnicodeEncodeError:
        # Joining a pair that was written as two escapes comes first; what is left stands alone.
        paired = quoted.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", paired)
    return quoted
