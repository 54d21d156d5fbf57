"""What a search looks for before it tries its pattern must be in everything that the pattern matches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workrail_lint.systems.workrail import rules
from workrail_lint.systems.workrail.rules.prose import Search

_FOLDER = Path(rules.__file__).parent


def _searches(value: object) -> Iterator[Search]:
    if isinstance(value, Search):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _searches(item)


def _guarded() -> list[Search]:
    """Return all searches that look for more than their words. A match alone does not show what must be before it."""
    modules = [import_module(f"{rules.__name__}.{path.stem}") for path in sorted(_FOLDER.glob("*.py"))]
    searches = {search for module in modules for value in vars(module).values() for search in _searches(value)}
    guarded = [each for each in searches if (each.also or each.near) and "(?<" not in each.pattern.source]
    return sorted(guarded, key=lambda search: search.pattern.source)


_GUARDED = _guarded()


def test_searches_are_found() -> None:
    assert len(_GUARDED) > 30


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.data())
def test_what_a_search_looks_for_first_is_in_each_match(data: st.DataObject) -> None:
    search = data.draw(st.sampled_from(_GUARDED))
    text = data.draw(st.from_regex(search.pattern.compiled, fullmatch=True).map(str.lower))
    if search.also:
        assert any(word in f" {text} " for word in search.also), (search.also, text)
    if search.near:
        assert not search.near.isdisjoint(re.findall(r"\w+", text)), (search.near, text)
