"""Sabotages: small switches that break exactly one behaviour, to see whether a test that claims to enforce it fails.

A sabotage is a function that takes what stands in the code and gives what shall stand there instead:

    @breaks("gaps-append-only-resolution", at="package.module:function")
    def gaps_are_edited(original):
        \"\"\"What no longer holds, in one sentence.\"\"\"
        return lambda *arguments: ...
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

from pytest_workrail.records import Record

Broken = Callable[[Any], Any]
_PLACE = re.compile(r"[\w.]+:[\w.]+")


class Sabotage(Record):
    """One switch. `at` are places in the code, each `module:name` or `module:Class.name`."""

    name: str
    locks: tuple[str, ...]
    at: tuple[str, ...]
    summary: str
    broken: Broken
    digest: str

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The code with this switch on. Raises LookupError when a place is no longer there."""
        with ExitStack() as stack:
            for place in self.at:
                stack.enter_context(_replaced(place, self.broken))
            yield


def breaks(*locks: str, at: str | tuple[str, ...]) -> Callable[[Broken], Sabotage]:
    """Make a sabotage of the locks from a function; its name and docstring are those of the sabotage."""

    def decorate(broken: Broken) -> Sabotage:
        summary = inspect.getdoc(broken)
        if not locks or not summary:
            raise ValueError(f"the sabotage {broken.__name__} needs a lock, and a docstring that says what it breaks")
        source = hashlib.sha256(inspect.getsource(broken).encode()).hexdigest()
        places = (at,) if isinstance(at, str) else tuple(at)
        if not places or not all(isinstance(place, str) and _PLACE.fullmatch(place) for place in places):
            raise ValueError(f"the sabotage {broken.__name__} needs a place like module:name or module:Class.name")
        name = broken.__name__.replace("_", "-")
        return Sabotage(name, locks, places, summary.splitlines()[0], broken, f"sha256:{source}")

    return decorate


@contextmanager
def _replaced(place: str, broken: Broken) -> Iterator[None]:
    owner, name = _find(place)
    original = inspect.getattr_static(owner, name)
    replacement = broken(original)
    homes = [(owner, name), *_copies(owner, original, name)]
    for home, key in homes:
        setattr(home, key, replacement)
    try:
        yield
    finally:
        for home, key in homes:
            setattr(home, key, original)


def _find(place: str) -> tuple[Any, str]:
    module, _, path = place.partition(":")
    try:
        owner: Any = importlib.import_module(module)
        *parents, name = path.split(".")
        for parent in parents:
            owner = inspect.getattr_static(owner, parent)
        inspect.getattr_static(owner, name)
    except (ImportError, AttributeError) as error:
        raise LookupError(f"{place} does not exist, so it can't be sabotaged: {error}") from error
    return owner, name


def _copies(owner: Any, original: object, name: str) -> list[tuple[ModuleType, str]]:
    """Other modules that imported it from its home; a name that was imported there is replaced there alone.

    A plain value may be shared by chance, so of those only what has the same name is taken for a copy.
    """
    is_named = inspect.isroutine(original) or inspect.isclass(original)
    if is_named and inspect.ismodule(owner) and getattr(original, "__module__", None) != owner.__name__:
        return []
    return [
        (module, key)
        for module in list(sys.modules.values())
        for key, value in list(getattr(module, "__dict__", {}).items())
        if value is original and (is_named or key == name)
    ]


def load_sabotages(sources: list[str], root: Path) -> list[Sabotage]:
    """The sabotages of modules, given by name, by file, or by a folder of files. Raises LookupError."""
    found: dict[str, Sabotage] = {}
    for source in sources:
        for module in _modules(source, root):
            for value in vars(module).values():
                if isinstance(value, Sabotage):
                    known = found.setdefault(value.name, value)
                    if known is not value:
                        raise LookupError(f"two sabotages have the name {value.name}")
    return list(found.values())


def _modules(source: str, root: Path) -> Iterator[ModuleType]:
    path = root / source
    if path.is_dir():
        for file in sorted(path.glob("*.py")):
            yield _loaded(file.name, partial(_module_of, file))
    elif path.is_file():
        yield _loaded(path.name, partial(_module_of, path))
    elif not _is_module(source):
        raise LookupError(f"{source} is not a file, folder or module")
    else:
        yield _loaded(source, partial(importlib.import_module, source))


def _is_module(name: str) -> bool:
    parts = name.split(".")
    return all(part.isidentifier() for part in parts) and importlib.util.find_spec(parts[0]) is not None


def _loaded(name: str, load: Callable[[], ModuleType]) -> ModuleType:
    """Load a module; an error in its code is reported with its location."""
    try:
        return load()
    except Exception as error:
        lines = [
            (frame.f_code.co_filename, line)
            for frame, line in walk_tb(error.__traceback__)
            if frame.f_code.co_name == "<module>"
        ]
        place = f" ({Path(lines[-1][0]).name}, line {lines[-1][1]})" if lines else ""
        raise LookupError(f"{name} can't be loaded: {type(error).__name__}: {error}{place}") from error


def _module_of(path: Path) -> ModuleType:
    name = f"workrail_sabotages_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LookupError(f"{path.name} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    # inspect finds the source of a function through its module.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
