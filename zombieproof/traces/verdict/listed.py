"""Long lists of a report that are not held in memory: offsets and transactions, made anew whenever they are gone over.

They are equal to lists of the same items, and are such lists in JSON.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, TypeVar, overload

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Item = TypeVar("Item")


class Listed(Sequence[Item], Generic[Item]):
    """A sequence of what `made` gives, each time it is called; `count` is how many that are, if it is known."""

    __slots__ = ("_count", "_made")

    def __init__(self, made: Callable[[], Iterator[Item]], count: int | None = None) -> None:
        self._made, self._count = made, count

    def __iter__(self) -> Iterator[Item]:
        return self._made()

    def __len__(self) -> int:
        if self._count is None:
            self._count = sum(1 for _ in self._made())
        return self._count

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return list(self)[index]
        place = index + len(self) if index < 0 else index
        found = next(islice(self, place, None), None) if place >= 0 else None
        if found is None:
            raise IndexError(f"{index} is beyond the {len(self)} items")
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Listed | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        return repr(list(self))


class ListedTransactions(Listed[Item]):
    """Transactions; `counts` says how many ended in which way, if it is known without going over them."""

    __slots__ = ("counts",)

    def __init__(self, made: Callable[[], Iterator[Item]], counts: Mapping[str, int] | None) -> None:
        super().__init__(made, None if counts is None else sum(counts.values()))
        self.counts = counts


class OrListed:
    """Annotates a `Sequence` of a model: a list is checked as such, and a `Listed` is taken as it is."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Say so to pydantic."""
        (item,) = source.__args__
        as_list = core_schema.list_schema(handler.generate_schema(item))
        return core_schema.no_info_wrap_validator_function(
            lambda given, check: given if isinstance(given, Listed) else check(given),
            as_list,
            serialization=core_schema.wrap_serializer_function_ser_schema(
                lambda given, write: write(list(given)), schema=as_list
            ),
        )
