"""Where a golden is kept: a function of the test that claims it, and of nothing else.

A scenario `s/review.scenario.json` has `s/__goldens__/review.golden.json`; a test `t/test_a.py::Test::test_b[x]` has
`t/__goldens__/test_a/Test-test_b[x].golden.json`. Further goldens of the same test carry a label before the
ending: `.2` for the second call, `.<name>` where a name is given. As no other part of a file name can hold a
dot, the owner of every golden on disk can be told without reading it.
"""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from hashlib import sha256

from pytest_workrail.records import Record
from workrail_lint.base.patterns import Pattern

FOLDER = "__goldens__"
ENDING = ".golden.json"
PENDING = ".pending"
SCENARIO_ENDING = ".scenario.json"

# The parameter of the one item that pytest makes when a set of parameters turns out to be empty.
_EMPTY_SET = "NOTSET"
# xdist's loadgroup appends `@group` to the id of an item; an identifier can't hold that sign.
_ITEM = Pattern(r"(?P<name>[^\[@]*)(?P<parameters>\[.*\])?(?:@[^\]]*)?", re.DOTALL)
_UNSAFE = Pattern(r"[^A-Za-z0-9_\[\]=,+-]")
# File names end at 255 bytes nearly everywhere; ours hold a test, a label, two endings and what a writer appends.
_LONGEST, _LONGEST_LABEL = 100, 60


class GoldenKey(Record):
    """One golden: the test that claims it, and its file, relative to pytest's root folder with `/`."""

    nodeid: str
    path: str

    @classmethod
    def of(cls, nodeid: str, name: str | None = None, call: int = 1) -> GoldenKey:
        """The golden of a test: the only one, the n-th, or the one with a name."""
        base = owner_base(nodeid)
        if name is not None:
            base += f".{_label(name)}"
        elif call > 1:
            base += f".{call}"
        return cls(nodeid, base + ENDING)


def owner_base(nodeid: str) -> str:
    """The path, without ending, that all goldens of a test begin with."""
    file, _, item = nodeid.partition("::")
    base = source_base(file)
    return base if file.endswith(SCENARIO_ENDING) else f"{base}/{_item(item)}"


@lru_cache(maxsize=1024)
def source_base(file: str) -> str:
    """The path that all goldens of a test file, or of a scenario, begin with."""
    folder, name = posixpath.split(file.replace("\\", "/"))
    stem = name.removesuffix(SCENARIO_ENDING) if name.endswith(SCENARIO_ENDING) else posixpath.splitext(name)[0]
    return posixpath.join(folder, FOLDER, _safe(stem))


def is_source(name: str) -> bool:
    """True for the name of a file that may hold tests."""
    return name.endswith((".py", SCENARIO_ENDING))


def base_of(path: str) -> str:
    """The owner's part of a golden's path."""
    folder, name = posixpath.split(path)
    return posixpath.join(folder, name.partition(".")[0])


def source_folder(path: str) -> str:
    """The folder whose tests a golden belongs to."""
    return path.partition(f"{FOLDER}/")[0].rstrip("/")


def has_no_parameters(nodeid: str) -> bool:
    """True for the item that stands for a parametrized test whose set of parameters is empty."""
    found = _ITEM.fullmatch(nodeid.partition("::")[2])
    parameters = (found and found["parameters"]) or "[]"
    return _EMPTY_SET in parameters[1:-1].split("-")


def function_base(base: str) -> str:
    """The part of an owner that all parameters of the same test share."""
    folder, name = posixpath.split(base)
    return posixpath.join(folder, name.partition("[")[0])


def _item(item: str) -> str:
    found = _ITEM.fullmatch(item) if "@" in item or "::" in item else None
    if found is None:
        return _safe(item)
    name = found["name"].replace("::", "-")
    return _safe(name + (found["parameters"] or ""))


def _label(name: str) -> str:
    # A label that starts with a digit is the number of a call.
    return _marked(name, _LONGEST_LABEL) if name[:1].isdigit() else _safe(name, _LONGEST_LABEL)


def _safe(text: str, longest: int = _LONGEST) -> str:
    """A text as a part of a file name, on every system. What had to change is told apart by a digest."""
    is_safe = 0 < len(text) <= longest and _UNSAFE.search(text) is None
    return text if is_safe else _marked(text, longest)


def _marked(text: str, longest: int) -> str:
    mark = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_UNSAFE.sub('_', text)[:longest]}-{mark}"
