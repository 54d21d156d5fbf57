"""ISO-8601 date-times in documents, and which of two is earlier."""

from __future__ import annotations

from typing import NamedTuple

from workrail_lint.base.patterns import Pattern

# The calendar is in the pattern, so that the schema says all there is to say: 30 February does not match.
_LONG_MONTHS = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
_SHORT_MONTHS = "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
_LEAP_YEAR = "[0-9]{2}(?:[2468][048]|[13579][26]|0[48])|(?:[02468][048]|[13579][26])00"
_DATE = f"(?:(?:{_LEAP_YEAR})-02-29|[0-9]{{4}}-(?:{_LONG_MONTHS}|{_SHORT_MONTHS}))"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?"
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"

ISO_TIMESTAMP = f"^{_DATE}T{_TIME}{_ZONE}?$"
"""A date and a time; a zone may be missing, which is reported but does not make the text unusable."""

_VALID = Pattern(f"{_DATE}T{_TIME}{_ZONE}?")
_PARTS = Pattern(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d:?(?:\d\d)?)?")


class Instant(NamedTuple):
    """A point in time that compares exactly, however many digits were written."""

    seconds: int
    fraction: str


class Timestamp(NamedTuple):
    """A timestamp that was read; without a zone its instant is that of UTC."""

    instant: Instant
    has_zone: bool


def parse_timestamp(text: object) -> Timestamp | None:
    """Return the parsed timestamp, or None if it is not an ISO 8601 date-time."""
    if not isinstance(text, str) or _VALID.fullmatch(text) is None:
        return None
    match = _PARTS.fullmatch(text)
    assert match is not None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    seconds = _days(int(year), int(month), int(day)) * 86_400
    seconds += int(hour) * 3600 + int(minute) * 60 + int(second or 0) - _offset(zone)
    return Timestamp(Instant(seconds, (fraction or "").rstrip("0")), zone is not None)


def instant_of(text: object) -> Instant | None:
    """Return when something happened, for comparing; None when the text leaves that open."""
    parsed = parse_timestamp(text)
    return parsed.instant if parsed is not None and parsed.has_zone else None


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def _days(year: int, month: int, day: int) -> int:
    """Return the days of the proleptic Gregorian calendar since 1 March of year 0, with the leap day last in a year."""
    year -= month < 3
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1
