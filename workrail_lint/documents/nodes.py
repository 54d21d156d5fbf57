"""Objects of a JSON document as typed nodes: members as attributes, beside the object itself and its place.

Classes of nodes are generated from the definitions of a document (`tools/models/runtime.py`). The schema engine checks
types, the builder does not: it leaves out what the schema calls wrong, so that a value that is there has the type that
its attribute declares. Nodes are created empty and filled from a worklist, so that nesting never reaches Python's
recursion limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Protocol, Self, TypeVar

from workrail_lint.documents.pointer import Token, child
from workrail_lint.documents.schema.engine import Violation

T = TypeVar("T")

NO_MEMBERS: Mapping[str, Any] = MappingProxyType({})
# Violations after which a value is left out, and those that tell of a wrong type somewhere.
LEFT_OUT = ("type", "enum", "const")
_OF_TYPE = ("type", "anyOf", "oneOf")
_STRINGS = frozenset((str,))


class Node:
    """An object of a document.

    An instance has what the document has; everything else reads as the default of its class: None, or what is empty.
    `"member" in node` tells whether a member is written, right or wrong.
    """

    leaves: ClassVar[Mapping[str, str]] = {}  # the attribute of each member that is kept as it is
    parts: ClassVar[Mapping[str, tuple[str, Reader]]] = {}  # attribute and reader of each member with nodes in it
    required_parts: ClassVar[Sequence[str]] = ()  # members that read as an empty node if there is none

    raw: dict[str, Any]  # the object as it is in the document; never changed
    parent: Node | None
    key: str  # the place below the parent, such as `steps/3`; without a parent the pointer
    is_damaged: bool = False  # something in it, however deep, has a wrong type
    is_partial: bool = False  # a member, or an element of one, was left out

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} can't be changed")

    def __contains__(self, member: str) -> bool:
        return member in self.raw

    def has(self, member: str) -> bool:
        """Return whether a member is written and has the right type."""
        if member in self.leaves:
            return member in self.raw and self.leaves[member] in self.__dict__
        part = self.__dict__.get(self.parts[member][0])
        is_empty = isinstance(part, Node) and part.raw is not self.raw.get(member)  # in place of a missing one
        return member in self.raw and part is not None and not is_empty

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.pointer!r})"

    @cached_property
    def pointer(self) -> str:
        """The place in the document."""
        keys: list[str] = []
        node: Node = self
        while node.parent is not None and "pointer" not in node.__dict__:
            keys.append(node.key)
            node = node.parent
        top: str = node.__dict__.get("pointer", node.key)
        return "/".join([top, *reversed(keys)])

    def at(self, *tokens: Token) -> str:
        """Return the pointer of something below."""
        pointer = self.pointer
        for token in tokens:
            pointer = child(pointer, token)
        return pointer

    @property
    def index(self) -> int:
        """The number in the list that holds the node."""
        return int(self.key.rpartition("/")[2])

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it."""
        stack: list[Any] = [self]
        while stack:
            value = stack.pop()
            if isinstance(value, Node):
                yield value
                attributes = [attribute for attribute, _ in value.parts.values()]
                stack.extend(value.__dict__[attribute] for attribute in attributes if attribute in value.__dict__)
            elif isinstance(value, list):
                stack.extend(value)

    def without(self, members: Collection[str]) -> Self:
        """Return the same object without some of its members."""
        return self.revised({name: value for name, value in self.raw.items() if name not in members})

    def revised(self, raw: dict[str, Any], **leaves: Any) -> Self:
        """Return the node of an object with other values for some plain members and without others."""
        copy = type(self)()
        members = copy.__dict__
        members.update(raw=raw, parent=self.parent, key=self.key)
        own, attributes, parts = self.__dict__, self.leaves, self.parts
        for name in (*raw, *self.required_parts):
            attribute = attributes[name] if name in attributes else parts[name][0] if name in parts else ""
            if attribute in own and (name in raw or name not in self.raw):
                members[attribute] = own[attribute]
        members.update(leaves)
        return copy

    @classmethod
    def read(cls, build: Build, value: Any, parent: Node | None, key: str) -> Any:
        """Return the node of an object, as every `Reader` does."""
        return build.node(cls, value, parent, key)

    def take_damage(self, key: str) -> bool:
        """Note that something at a place below has a wrong type. Return whether the parent has to know."""
        self.__dict__["is_damaged"] = True
        return True


# After its bound: a bound given as text is compiled, and the first use of the compiler costs as much as ten modules.
N = TypeVar("N", bound=Node)


def attribute_of(member: str) -> str:
    """Return the usual attribute of a member: `run_condition` for `runCondition`."""
    return member if member.islower() else "".join(f"_{char.lower()}" if char.isupper() else char for char in member)


def members(words: str) -> dict[str, str]:
    """Return members with their attributes, written as words; `as=as_` is one whose attribute is not the usual one."""
    pairs = (word.partition("=") for word in words.split())
    return {name: attribute or attribute_of(name) for name, _, attribute in pairs}


class Kept(list[T]):
    """A list without its elements of a wrong type; `indices` are those of the others in the document."""

    __slots__ = ("indices",)

    def __init__(self, elements: Iterable[tuple[int, T]]) -> None:
        pairs = list(elements)
        super().__init__(element for _, element in pairs)
        self.indices = [index for index, _ in pairs]


def numbered(elements: Sequence[T]) -> Iterator[tuple[int, T]]:
    """Yield the elements of a list, each with its index in the document."""
    indices = elements.indices if isinstance(elements, Kept) else range(len(elements))
    return zip(indices, elements, strict=True)


def place_below(parent: Node | None, key: str) -> str:
    """Return the pointer of a place below a node, which without one is the pointer of a root."""
    return key if parent is None else f"{parent.pointer}/{key}"


class Reader(Protocol):
    """Makes what an attribute holds of a value that is or has nodes; None if no alternative fits."""

    def read(self, build: Build, value: Any, parent: Node | None, key: str) -> Any: ...


class Build:
    """Builds the nodes of one document, given everywhere that it breaks its schema.

    `reported` are the violations that authors see, and that count as damage. If there are none, which is
    usual, building is one loop over the members of each object.
    """

    def __init__(self, violations: Sequence[Violation] = (), reported: Sequence[Violation] | None = None) -> None:
        self.left_out = {violation.pointer for violation in violations if violation.keyword in LEFT_OUT}
        self.damage = {
            violation.pointer
            for violation in (violations if reported is None else reported)
            if violation.keyword in _OF_TYPE or violation.pointer.endswith("/type")
        }
        self._unfilled: list[Node] = []

    def root(self, reader: Reader, raw: dict[str, Any], pointer: str = "") -> Any:
        """Return what a reader makes of an object, with all nodes below it."""
        root = reader.read(self, raw, None, pointer)
        for node in self._unfilled:  # filling one adds those below it
            if self.left_out or self.damage:
                self._fill_carefully(node)
            else:
                self._fill(node, node.raw)
        self._unfilled = []
        return root

    def node(self, cls: type[N], raw: dict[str, Any], parent: Node | None, key: str) -> N:
        """Return a node that is filled later."""
        node = cls()
        members = node.__dict__
        members["raw"] = raw
        members["parent"] = parent
        members["key"] = key
        self._unfilled.append(node)
        return node

    def unchecked(self, cls: type[N], raw: dict[str, Any], parent: Node | None, key: str) -> N | None:
        """Return the node of an object that the schema did not look into, if there is a way to check it."""
        return None

    def _fill(self, node: Node, written: Mapping[str, Any]) -> None:
        members, leaves, parts = node.__dict__, node.leaves, node.parts
        for name, value in written.items():
            if name in leaves:
                members[leaves[name]] = value
            elif name in parts and value is not None:
                attribute, reader = parts[name]
                part = reader.read(self, value, node, name)
                if part is not None:
                    members[attribute] = part
        for name in node.required_parts:
            attribute, reader = parts[name]
            if attribute not in members:
                members[attribute] = reader.read(self, {}, node, name)

    def _fill_carefully(self, node: Node) -> None:
        pointer = node.pointer
        right = {}
        for name, value in node.raw.items():
            place = child(pointer, name)
            if place in self.damage:
                self.note_damage(node, name)
            if place not in self.left_out:
                right[name] = self._without_wrong(value, node, name, place) if name in node.leaves else value
        if len(right) < len(node.raw):
            node.__dict__["is_partial"] = True
        self._fill(node, right)

    def _without_wrong(self, value: Any, node: Node, name: str, place: str) -> Any:
        """Return a list or an object of plain values or lists of these, without what has a wrong type."""
        if isinstance(value, list):
            return self.elements(value, node, name)
        if isinstance(value, dict):
            places = {member: child(place, member) for member in value}
            if not self.damage.isdisjoint(places.values()):
                self.note_damage(node, name)
            if not self.left_out.isdisjoint(places.values()):
                node.__dict__["is_partial"] = True
            return {
                member: self.elements(item, node, child(name, member)) if isinstance(item, list) else item
                for member, item in value.items()
                if places[member] not in self.left_out
            }
        return value

    def elements(self, value: list[Any], node: Node | None, key: str) -> list[Any]:
        """Return a list of the document without its elements of a wrong type."""
        place = place_below(node, key)
        places = [f"{place}/{index}" for index in range(len(value))]
        for index, element in enumerate(places):
            if element in self.damage and node is not None:
                self.note_damage(node, f"{key}/{index}")
        if self.left_out.isdisjoint(places):
            return value
        if node is not None:
            node.__dict__["is_partial"] = True
        return Kept((index, item) for index, item in enumerate(value) if places[index] not in self.left_out)

    @staticmethod
    def note_damage(node: Node, key: str) -> None:
        """Mark a node as damaged, and those around it as far as they have to know."""
        while node.take_damage(key) and node.parent is not None:
            node, key = node.parent, node.key


class Unchecked:
    """Reads an object that the schema does not look into."""

    __slots__ = ("cls",)

    def __init__(self, cls: type[Node]) -> None:
        self.cls = cls

    def read(self, build: Build, value: Any, parent: Node | None, key: str) -> Any:
        return build.unchecked(self.cls, value, parent, key)


class Items:
    """Reads a list."""

    __slots__ = ("reader",)

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def read(self, build: Build, value: Any, parent: Node | None, key: str) -> Any:
        if build.left_out or build.damage:
            value = build.elements(value, parent, key)
        elif _STRINGS.issuperset(map(type, value)):
            return value  # there are no nodes in it
        read = self.reader.read
        if isinstance(value, Kept):
            kept = [(index, read(build, item, parent, f"{key}/{index}")) for index, item in numbered(value)]
            return Kept((index, part) for index, part in kept if part is not None)
        parts = [read(build, item, parent, f"{key}/{index}") for index, item in enumerate(value)]
        if None in parts:
            return Kept((index, part) for index, part in enumerate(parts) if part is not None)
        return parts


class Members:
    """Reads an object of any members, whose values are nodes."""

    __slots__ = ("reader",)

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def read(self, build: Build, value: Any, parent: Node | None, key: str) -> Any:
        place = place_below(parent, key)
        right = {name: child(key, name) for name in value if child(place, name) not in build.left_out}
        parts = {name: self.reader.read(build, value[name], parent, below) for name, below in right.items()}
        return {name: part for name, part in parts.items() if part is not None}


class ByType:
    """Reads objects and lists differently; other values are kept as they are."""

    __slots__ = ("of_array", "of_object")

    def __init__(self, *, of_object: Reader | None = None, of_array: Reader | None = None) -> None:
        self.of_object = of_object
        self.of_array = of_array

    def read(self, build: Build, value: Any, parent: Node | None, key: str) -> Any:
        reader = self.of_object if isinstance(value, dict) else self.of_array if isinstance(value, list) else None
        return value if reader is None else reader.read(build, value, parent, key)


class ByMember:
    """Reads an object as the class that the value of a member names; `absent` is the class of one without it.

    If the value names none, or one that the place does not allow, the schema did not look into the object.
    """

    __slots__ = ("absent", "choices", "member")

    def __init__(self, member: str, choices: Mapping[str, type[Node]], absent: type[Node] | None = None) -> None:
        self.member = member
        self.choices = choices
        self.absent = absent

    def read(self, build: Build, value: Any, parent: Node | None, key: str) -> Any:
        tag = value.get(self.member)
        known = self.choices.get(tag, self.absent) if isinstance(tag, str) else self.absent
        if known is None:
            return None
        if build.left_out and f"{place_below(parent, key)}/{self.member}" in build.left_out:
            return build.unchecked(known, value, parent, key)
        return build.node(known, value, parent, key)


class ByPresence:
    """Reads an object as the class of the first member that it has."""

    __slots__ = ("choices", "otherwise")

    def __init__(self, choices: Mapping[str, type[Node]], otherwise: type[Node] | None = None) -> None:
        self.choices = choices
        self.otherwise = otherwise

    def read(self, build: Build, value: Any, parent: Node | None, key: str) -> Any:
        cls = next((cls for member, cls in self.choices.items() if member in value), self.otherwise)
        return None if cls is None else build.node(cls, value, parent, key)
