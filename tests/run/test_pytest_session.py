"""Failures that are shown as their own text."""

from __future__ import annotations

import pytest

from pytest_workrail.run.pytest_session import in_own_words


@pytest.mark.parametrize("place", [None, ("other.json", 7)])
@pytest.mark.parametrize("style", ["auto", "long", "short", "native", "no", "line"])
def test_a_failure_in_every_style_of_pytest(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, style: str, place: tuple[str, int] | None
) -> None:
    """In style `line` pytest shows the reason, so that the text would only repeat it."""
    monkeypatch.setattr(request.config.option, "tbstyle", style)
    with pytest.raises(ValueError, match="first") as raised:
        raise ValueError("first\nsecond")
    shown = in_own_words(request.config, raised, "the reason", place)
    lines = [line for entry in shown.reprtraceback.reprentries for line in entry.lines]
    assert "\n".join(lines) == ("" if style == "line" else "first\nsecond")
    assert shown.reprcrash.message == "the reason"
    crash = (shown.reprcrash.path, shown.reprcrash.lineno)
    assert (crash == place) if place is not None else crash[0] == __file__
