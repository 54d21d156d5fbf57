"""Parts of a result: which places a pattern of a matcher describes, and the gaps that a loop answers for."""

from __future__ import annotations

from types import SimpleNamespace

from tables import for_each

from pytest_workrail.run.history import _loop_gaps
from pytest_workrail.run.result import _fits


@for_each(
    "pattern, place, fits",
    [
        ("", "", True),
        ("", "a", False),
        ("a", "", False),
        ("a", "a", True),
        ("a", "b", False),
        ("a b", "a b", True),
        ("a b", "b a", False),
        ("a b", "a", False),
        ("a b", "a b c", False),
        ("* b", "a b", True),
        ("* b", "b a", False),
        ("a *", "a b", True),
        ("a *", "b a", False),
        ("*", "", False),
        ("**", "", True),
        ("** c", "a b c", True),
        ("** c", "c a", False),
        ("a ** c", "a c", True),
        ("a ** c", "a b b c", True),
        ("a ** c", "b b c", False),
        ("** b *", "a b c", True),
    ],
)
def test_a_pattern_describes_places(pattern: str, place: str, fits: bool) -> None:
    assert _fits(tuple(pattern.split()), tuple(place.split())) is fits


def test_a_loop_answers_for_the_gaps_that_name_it() -> None:
    gaps = [
        SimpleNamespace(details=details, reason=SimpleNamespace(detail=detail))
        for detail, details in (
            ("plain", None),
            ("other", SimpleNamespace(to_wire=lambda: {"stepId": "a"})),
            ("of a loop", SimpleNamespace(to_wire=lambda: {"loopId": "a"})),
        )
    ]
    assert list(_loop_gaps(gaps)) == ["of a loop"]  # type: ignore[arg-type]
