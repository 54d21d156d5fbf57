"""Gives one module other code than is on disk, in every process that starts with this folder in PYTHONPATH.

`tools/mutation.py` sets the three variables: the module's name, its file, and the file with the other code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

VARIABLES = ("MUTANT_MODULE", "MUTANT_FILE", "MUTANT_SOURCE")


class _Mutant(Loader):
    """A loader. Not one for source files: pytest would read the file on disk, to rewrite its assertions."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        _, file, source = (os.environ[name] for name in VARIABLES)
        exec(compile(Path(source).read_text(encoding="utf-8"), file, "exec"), module.__dict__)


def _mutant(name: str) -> ModuleSpec | None:
    if name != os.environ.get("MUTANT_MODULE"):
        return None
    file = Path(os.environ["MUTANT_FILE"])
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    return spec_from_file_location(name, file, loader=_Mutant(), submodule_search_locations=folders)


class _First:
    """A finder that comes before the one of a pytest that already runs, which rewrites what is on disk."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return _mutant(name)


_on_disk = PathFinder.find_spec


def _find_spec(
    finder: type[PathFinder], name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
) -> ModuleSpec | None:
    return _mutant(name) or _on_disk(name, path, target)


sys.meta_path.insert(0, _First)
# For a pytest that starts later, whose finder is put before all others: it keeps this method as an attribute of its own
# class and calls it there. So it is a class method, like the one it replaces.
PathFinder.find_spec = classmethod(_find_spec)  # type: ignore[method-assign,assignment]
