"""The lock registry: rules that must stay true, each with an id that tests claim.

`workrail-lint schema lock-registry` prints the schema of these models; running this module writes it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workrail_lint.base.files import read_bytes, write_atomically
from workrail_lint.base.result import Err, Ok
from workrail_lint.base.wording import counted
from workrail_lint.documents.pointer import child
from workrail_lint.systems.schemas import schema_path

Part: TypeAlias = Literal["static", "engine", "architecture"]
NonEmpty: TypeAlias = Annotated[str, Field(min_length=1)]

_FOLDER = Path(__file__).parent
REGISTRY_FILE = _FOLDER / "locks.json"
SCHEMA_FILE = Path(schema_path("lock-registry"))
_VERSION = r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$"
# Both ways to write a heading: after number signs, and above a line.
_HEADING = re.compile(r"^(?:#{1,6}\s+(.+?)\s*$|(\S.*?)\s*\n(?:=+|-+)\s*$)", re.MULTILINE)
# A heading with a number, as in `## 1.2) Tokens`, and what names it in a source.
_NUMBERED = re.compile(r"§?\s*(\d+(?:\.\d+)*)")
_CITED = re.compile(r"§\s*(\d+(?:\.\d+)*)")
_WORD = re.compile(r"[\w-]+")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Lock(_Model):
    """One thing that must stay true."""

    id: Annotated[str, Field(pattern="^[a-z0-9]+(-[a-z0-9]+)*$", description="The id that tests claim.")]
    category: Annotated[NonEmpty, Field(description="One of the registry's categories.")]
    source: Annotated[
        NonEmpty, Field(description="The document that states the rule, optionally with `#section` or ` §1.2`.")
    ]
    summary: Annotated[NonEmpty, Field(description="The rule in one sentence.")]
    revision: Annotated[int, Field(ge=1, description="Increase it when the meaning of the summary changes.")] = 1
    applies: Annotated[
        Part | Literal["n/a"] | list[Part] | None,
        Field(description="Which part of the product must keep the rule; `n/a` needs a reason."),
    ] = None
    reason: Annotated[NonEmpty | None, Field(description="Why the rule does not apply.")] = None
    obsolete: Annotated[bool, Field(description="True if the lock is kept only to reserve its id.")] = False

    @property
    def counts(self) -> bool:
        """Whether a test has to claim it."""
        return not self.obsolete and self.applies != "n/a"


class Registry(_Model):
    """Every lock of a project."""

    model_config = ConfigDict(populate_by_name=True)

    schema_ref: Annotated[str | None, Field(alias="$schema")] = None
    lock_registry_version: Annotated[
        Literal[1], Field(alias="lockRegistryVersion", description="The version of the registry format (default: 1).")
    ] = 1
    version: Annotated[str, Field(pattern=_VERSION, description="The version of the content.")]
    description: str | None = None
    generated_warning: Annotated[
        str | None,
        Field(alias="generatedWarning", description="A remark for readers, as the public engine's registry has."),
    ] = None
    categories: Annotated[dict[str, str], Field(description="Category ids and what each category contains.")]
    locks: list[Lock]

    def counting(self) -> list[Lock]:
        """Return the locks that tests have to claim."""
        return [lock for lock in self.locks if lock.counts]


class RegistryProblem(NamedTuple):
    """One thing wrong with a registry: where, what, and what to do."""

    pointer: str
    message: str


def read_registry(text: str | bytes) -> Ok[Registry] | Err[list[RegistryProblem]]:
    """A registry from its text. Whether its sources exist is another question: see `missing_sources`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        return Err([RegistryProblem("", f"The registry is not valid JSON: {problem}.")])
    try:
        registry = Registry.model_validate(value)
    except ValidationError as problem:
        return Err(list(_shape_problems(value, problem)))
    problems = list(_problems(registry))
    return Err(problems) if problems else Ok(registry)


def load_registry(path: Path) -> Ok[Registry] | Err[list[RegistryProblem]]:
    """Return a registry from its file."""
    try:
        text = read_bytes(str(path))
    except OSError as problem:
        return Err([RegistryProblem("", f"The registry can't be read: {problem.strerror}.")])
    return read_registry(text)


def shipped_registry() -> Registry:
    """Return the locks of this product. That they can be read is one of our own tests."""
    return load_registry(REGISTRY_FILE).value


def _shape_problems(value: Any, problem: ValidationError) -> Iterator[RegistryProblem]:
    """Yield what does not fit the model, once for each place. Of several ways to write a member, all are named."""
    by_place: dict[str, list[str]] = {}
    for error in problem.errors(include_url=False):
        by_place.setdefault(_place(value, error["loc"], error["type"]), []).append(error["msg"])
    for pointer, messages in by_place.items():
        yield RegistryProblem(pointer, f"{', or: '.join(messages)}. See workrail-lint schema lock-registry.")


def _place(value: Any, location: tuple[int | str, ...], kind: str) -> str:
    """The pointer to what is wrong. The model also names which of several ways it has tried; no file holds those."""
    pointer = ""
    for part in location:
        is_there = part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int)
        if not is_there and kind != "missing":
            continue
        pointer = child(pointer, part)
        value = value[part] if is_there else None
    return pointer


def _problems(registry: Registry) -> Iterator[RegistryProblem]:
    counts = Counter(lock.id for lock in registry.locks)
    for index, lock in enumerate(registry.locks):
        if counts[lock.id] > 1:
            yield RegistryProblem(f"/locks/{index}/id", f"Lock '{lock.id}' is defined twice. Rename or remove one.")
        if lock.category not in registry.categories:
            message = f"Category '{lock.category}' is not in `categories`. Add it, or use one of those."
            yield RegistryProblem(f"/locks/{index}/category", message)
        if (lock.applies == "n/a") != (lock.reason is not None):
            message = f"Lock '{lock.id}' needs a `reason` if and only if `applies` is `n/a`."
            yield RegistryProblem(f"/locks/{index}/reason", message)


def missing_sources(registry: Registry, root: Path) -> list[RegistryProblem]:
    """Sources whose document, or section in it, does not exist below the root."""
    return [
        RegistryProblem(f"/locks/{index}/source", f"'{lock.source}' does not exist. Name an existing section.")
        for index, lock in enumerate(registry.locks)
        if not _is_citation(lock.source) and not _exists(lock.source, root)
    ]


def missing_citations(registry: Registry, root: Path, folder: Path) -> list[str]:
    """Citations that lead nowhere, each once. Their documents are below the root or beside the registry."""
    counts = Counter(lock.source for lock in registry.locks if _is_citation(lock.source))
    return [
        f"'{source}' does not exist ({counted(count, 'lock')})"
        for source, count in counts.items()
        if not any(_is_cited(source, root, place) for place in (root, folder))
    ]


def _is_citation(source: str) -> bool:
    """Whether a source is written for readers, as in the public engine's registry: `name.md §1.2`, or only a word."""
    return "§" in source or _WORD.fullmatch(source) is not None


def _is_cited(source: str, root: Path, folder: Path) -> bool:
    text = _document(source.partition("§")[0].strip(), root, folder)
    numbers = set() if text is None else {match[1] for title in _titles(text) if (match := _NUMBERED.match(title))}
    return text is not None and numbers.issuperset(_CITED.findall(source))


def _exists(source: str, root: Path) -> bool:
    name, _, section = source.partition("#")
    text = _document(name, root, root)
    return text is not None and (not section or section in _sections(text))


def _document(name: str, root: Path, folder: Path) -> str | None:
    """Return the text of a document below the root, named as seen from a folder."""
    document = Path(os.path.normpath(folder / name))
    try:
        return read_bytes(str(document)).decode(errors="replace") if document.is_relative_to(root) else None
    except (OSError, ValueError):
        return None


def _sections(text: str) -> set[str]:
    """Return the names of all headings; where several are alike, the later ones are numbered."""
    seen: Counter[str] = Counter()
    anchors: set[str] = set()
    for title in _titles(text):
        anchor = _anchor(title)
        anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return anchors


def _titles(text: str) -> list[str]:
    return ["".join(titles) for titles in _HEADING.findall(text)]


def _anchor(title: str) -> str:
    """Return the name under which a heading can be linked to."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def schema_text() -> str:
    """Return the JSON Schema of a registry, as it is shipped."""
    schema = Registry.model_json_schema(by_alias=True)
    return json.dumps({"$schema": "http://json-schema.org/draft-07/schema#", **schema}, indent=2) + "\n"


if __name__ == "__main__":
    write_atomically(str(SCHEMA_FILE), schema_text().encode(), str(SCHEMA_FILE.parent))
