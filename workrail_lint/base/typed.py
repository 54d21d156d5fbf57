"""What modules need of `typing`, `enum` and `functools`, at a fraction of the price.

The hook starts on every commit. Importing `typing` and making its named tuples took a third of the time that checking a
clean file takes, and an enumeration of the standard library costs as much to define as two modules to import. Type
checkers see the real names; at run time most of them only have to exist.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from enum import Enum as Enum
    from functools import cached_property as cached_property
    from typing import Any as Any
    from typing import ClassVar as ClassVar
    from typing import Generic as Generic
    from typing import NamedTuple as NamedTuple
    from typing import NoReturn as NoReturn
    from typing import Protocol as Protocol
    from typing import TextIO as TextIO
    from typing import TypeAlias as TypeAlias
    from typing import TypeGuard as TypeGuard
    from typing import TypeVar as TypeVar
    from typing import cast as cast
else:
    from _collections import _tuplegetter as _item

    # Seen in annotations only, which are never evaluated.
    Any = ClassVar = NoReturn = Protocol = TextIO = TypeAlias = TypeGuard = object
    _new = tuple.__new__

    class Generic:
        """A base that takes type arguments and forgets them."""

        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    def TypeVar(name, **_):  # noqa: N802
        """What stands for a type, by its name."""
        return name

    def cast(_, value):
        """The value itself."""
        return value

    class cached_property:  # noqa: N801
        """A property that is computed once. Before Python 3.12 the one in `functools` takes a lock."""

        def __init__(self, compute):
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, _, name):
            self.name = name

        def __get__(self, instance, _=None):
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.compute(instance)
            return value

    class _Record(tuple):
        """What all named tuples share. The expensive part would be to generate a `__new__` for each."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}  # noqa: RUF012

        def __new__(cls, *values, **named):
            if named or len(values) != len(cls._fields):
                values = cls._completed(values, named)
            return _new(cls, values)

        @classmethod
        def _completed(cls, values, named):
            fields, defaults = cls._fields, cls._field_defaults
            if len(values) > len(fields):
                raise TypeError(f"{cls.__name__} takes {len(fields)} values, not {len(values)}")
            rest = []
            for field in fields[len(values) :]:
                if field in named:
                    rest.append(named.pop(field))
                elif field in defaults:
                    rest.append(defaults[field])
                else:
                    raise TypeError(f"{cls.__name__} needs a value for {field!r}")
            if named:
                raise TypeError(f"{cls.__name__} has no field {next(iter(named))!r}, or was given it twice")
            return (*values, *rest)

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, /, **named):
            unknown = named.keys() - set(self._fields)
            if unknown:
                raise ValueError(f"{type(self).__name__} has no field {sorted(unknown)[0]!r}")
            return _new(type(self), [named.get(field, value) for field, value in zip(self._fields, self, strict=True)])

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            shown = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

    # A tuple with few fields takes the `__new__` of its size, in which the parameters get the names of its fields. The
    # one above, which takes any number, has to look at what it is given.
    _MAKERS = (
        _Record.__new__,
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
    )
    _Function = type(_MAKERS[1])

    class _Named(type):
        """Makes a tuple with names of a class whose annotations name the fields."""

        def __new__(cls, name, bases, members):
            if not bases:
                return super().__new__(cls, name, bases, members)
            fields = tuple(members.get("__annotations__", ()))
            made = {**members, "__slots__": (), "_fields": fields, "__match_args__": fields}
            made["_field_defaults"] = {field: members[field] for field in fields if field in members}
            for at, field in enumerate(fields):
                made[field] = _item(at, "")
            defaults = made["_field_defaults"]
            if 0 < len(fields) < len(_MAKERS) and fields[len(fields) - len(defaults) :] == tuple(defaults):
                code = _MAKERS[len(fields)].__code__.replace(co_varnames=("_cls", *fields), co_name="__new__")
                made["__new__"] = staticmethod(_Function(code, globals(), "__new__", tuple(defaults.values())))
            return type(name, (_Record,), made)

    class NamedTuple(metaclass=_Named):
        """The base of named tuples, in the form of `typing.NamedTuple`."""

    class _Closed(type):
        """Makes members of the strings that a class names: looked up, compared and copied as those of `enum` are."""

        def __new__(cls, name, bases, members):
            if not bases:
                return super().__new__(cls, name, bases, members)
            made = super().__new__(cls, name, bases, {**_IN_WORDS, **members})
            found = {}
            for field, value in members.items():
                if type(value) is str and field[0] != "_":
                    member = found[value] = str.__new__(made, value)
                    member.name, member.value = field, value
                    setattr(made, field, member)
            made._by_value = found
            return made

        def __call__(cls, value):
            try:
                return cls._by_value[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__qualname__}") from None

        def __iter__(cls):
            return iter(cls._by_value.values())

        def __len__(cls):
            return len(cls._by_value)

    class Enum(metaclass=_Closed):
        """The base of closed sets of strings, in the form of `class Colour(str, Enum)`."""

        def __reduce__(self):
            return type(self), (self.value,)

        @classmethod
        def __get_pydantic_core_schema__(cls, _, handler):
            """The models that schemas are generated from see what it stands for."""
            from enum import Enum as Real

            real = Real(cls.__name__, [(member.name, member.value) for member in cls], type=str)
            real.__doc__ = cls.__doc__
            return handler.generate_schema(real)

    def _shown(self):
        return f"{type(self).__name__}.{self.name}"

    # Members of each class, because `str` comes before the base.
    _IN_WORDS = {
        "__str__": _shown,
        "__format__": lambda self, spec: format(_shown(self), spec),
        "__repr__": lambda self: f"<{_shown(self)}: {self.value!r}>",
    }
