"""Timestamps: which are ISO-8601, and which of two is earlier."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workrail_lint.base.timestamps import ISO_TIMESTAMP, instant_of, parse_timestamp
from workrail_lint.documents.schema.dialect import python_pattern

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=ZONES)


@given(MOMENTS)
def test_what_python_writes_is_read(moment: datetime) -> None:
    parsed = parse_timestamp(moment.isoformat())
    assert parsed is not None
    assert parsed.has_zone
    epoch = parse_timestamp("1970-01-01T00:00:00Z")
    assert epoch is not None
    seconds = (moment.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert parsed.instant.seconds - epoch.instant.seconds == seconds


@given(MOMENTS, MOMENTS)
def test_order_is_that_of_time(one: datetime, other: datetime) -> None:
    left, right = instant_of(one.isoformat()), instant_of(other.isoformat())
    assert left is not None
    assert right is not None
    assert (left < right) == (one < other)
    assert (left == right) == (one == other)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T10:00:00Z",
        "2026-03-01T10:00Z",
        "2026-03-01T10:00:00.123456789Z",
        "2026-03-01T10:00:00,5+01:00",
        "2026-03-01T10:00:00+0100",
        "2026-03-01T10:00:00-05",
        "2024-02-29T00:00:00Z",
        "2016-12-31T23:59:60Z",
    ],
)
def test_iso(text: str) -> None:
    assert instant_of(text) is not None
    assert re.search(python_pattern(ISO_TIMESTAMP), text, re.ASCII)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01",
        "2026-03-01 10:00:00Z",
        "2026-13-01T10:00:00Z",
        "2026-02-29T10:00:00Z",
        "2026-03-01T24:00:00Z",
        "2026-03-01T10:60:00Z",
        "01.03.2026 10:00",
        "2026-03-01T10:00:00Z\n",
        "٢٠٢٦-03-01T10:00:00Z",
        1700000000,
        None,
        ["2026-03-01T10:00:00Z"],
    ],
)
def test_not_iso(text: object) -> None:
    assert parse_timestamp(text) is None


def test_without_a_zone_nothing_is_compared() -> None:
    naive = parse_timestamp("2026-03-01T10:00:00")
    assert naive is not None
    assert not naive.has_zone
    assert instant_of("2026-03-01T10:00:00") is None
