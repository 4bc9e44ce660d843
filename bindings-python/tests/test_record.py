"""The package's classes of values are data classes, although their methods are made at the first use."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
import pydoc
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import stackwright as sw
from stackwright._record import field, record


@record(frozen=True, slots=True)
class Point:
    """A place."""

    x: int
    y: int = 2
    tags: dict[str, str] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Base:
    """Has one member."""

    first: int
    second: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class Derived(Base):
    """Has another one."""

    third: float

    @property
    def twice(self) -> float:
        """The double."""
        return self.third * 2


@record(frozen=True, slots=True)
class Checked:
    """Refuses a value, and is shown in its own way."""

    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError("it is negative")

    def __repr__(self) -> str:
        return "<checked>"


@record(frozen=True)
class Open:
    """Has a dictionary."""

    name: str
    mode: str = "propose"


class Own(Point):
    """A class that a program derives."""

    def __init__(self, x: int, note: str) -> None:
        super().__init__(x)
        self.note = note


@dataclasses.dataclass(frozen=True)
class OwnData(Point):
    """A data class that a program derives."""

    z: int = 3


def fresh() -> Any:
    """Returns a class that nothing has used yet."""

    @record(frozen=True, slots=True)
    class Fresh:
        """Is new."""

        x: int
        y: int = 2

    return Fresh


def test_the_first_use_can_be_any() -> None:
    uses = {
        "an instance": lambda cls: cls(1).y == 2,
        "fields": lambda cls: [member.name for member in dataclasses.fields(cls)] == ["x", "y"],
        "is_dataclass": dataclasses.is_dataclass,
        "a signature": lambda cls: str(inspect.signature(cls)) == "(x: 'int', y: 'int' = 2) -> None",
        "help": lambda cls: "(x: 'int', y: 'int' = 2)" in pydoc.plain(pydoc.render_doc(cls)),
        "match": lambda cls: cls.__match_args__ == ("x", "y"),
        "a derived data class": lambda cls: dataclasses.make_dataclass("D", [("z", int, 3)], bases=(cls,), frozen=True)(1).z == 3,
    }
    assert [name for name, use in uses.items() if not use(fresh())] == []


def test_values_are_compared_hashed_and_shown_by_their_members() -> None:
    assert Point(1) == Point(1, 2) != Point(1, 3)
    other: object = (1, 2, {})
    assert Point(1) != other
    assert repr(Point(1, tags={"a": "b"})) == "Point(x=1, y=2, tags={'a': 'b'})"
    assert hash(Derived(first=1, third=2)) == hash(Derived(first=1, third=2))
    assert repr(Derived(first=1, third=2)) == "Derived(first=1, second=None, third=2)"
    assert repr(Checked(1)) == "<checked>"
    assert Base(first=1) != Derived(first=1, third=2)


def test_each_instance_has_a_default_of_its_own() -> None:
    assert Point(1).tags == {} and Point(1).tags is not Point(1).tags


def test_members_cannot_change() -> None:
    changed: Any = Point(1)
    for name in ("x", "other"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(changed, name, 2)
        with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(changed, name)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Open("a").name = "b"  # type: ignore[misc]
    assert changed == Point(1)


def test_classes_have_slots() -> None:
    assert not hasattr(Point(1), "__dict__") and not hasattr(Derived(first=1, third=2), "__dict__")
    assert vars(Derived)["__slots__"] == ("third",)
    assert vars(Open("a")) == {"name": "a", "mode": "propose"}


def test_missing_and_unknown_arguments_are_refused_as_those_of_data_classes() -> None:
    refused: Any = Derived
    with pytest.raises(TypeError, match=r"^Derived.__init__\(\) missing 1 required keyword-only argument: 'third'$"):
        refused(first=1)
    with pytest.raises(TypeError, match=r"^Derived.__init__\(\) got an unexpected keyword argument 'fourth'$"):
        refused(first=1, third=2, fourth=3)
    with pytest.raises(TypeError, match="positional argument"):
        refused(1)


def test_a_class_can_check_its_members() -> None:
    with pytest.raises(ValueError, match="it is negative"):
        Checked(-1)


def test_values_can_be_copied_and_pickled_and_replaced() -> None:
    for value in (Point(1, tags={"a": "b"}), Derived(first=1, third=2), Open("a")):
        assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert dataclasses.replace(Point(1), y=3) == Point(1, 3)
    assert dataclasses.asdict(Point(1)) == {"x": 1, "y": 2, "tags": {}}
    assert dataclasses.astuple(Point(1)) == (1, 2, {})


def test_a_process_that_has_made_no_instance_can_read_a_pickled_one() -> None:
    pickled = pickle.dumps(sw.PropertyDiff("add", input_diff=True))
    read = f"import pickle, stackwright; print(pickle.loads({pickled!r}))"
    shown = subprocess.run([sys.executable, "-c", read], capture_output=True, check=True, text=True).stdout
    assert shown == "PropertyDiff(kind='add', input_diff=True)\n"


def test_values_can_be_matched() -> None:
    match Point(1, 5):
        case Point(x, 5):
            assert x == 1
        case _:
            pytest.fail("it does not match")
    match Derived(first=1, third=2):
        case Derived(first=1, twice=twice):
            assert twice == 4
        case _:
            pytest.fail("it does not match")
    assert Derived.__match_args__ == ()  # type: ignore[comparison-overlap, unused-ignore]


def test_programs_can_derive_classes() -> None:
    own = Own(1, "noted")
    own.note = "changed"
    assert (own.x, own.y, own.note) == (1, 2, "changed")
    with pytest.raises(dataclasses.FrozenInstanceError):
        own.x = 2  # type: ignore[misc]
    assert OwnData(1) == OwnData(1, z=3) and [member.name for member in dataclasses.fields(OwnData)] == ["x", "y", "tags", "z"]


def test_threads_can_make_the_first_instances_at_the_same_time() -> None:
    threads = 8
    for _ in range(20):
        cls, begin = fresh(), threading.Barrier(threads)
        made: list[object] = []

        def make(cls: Any = cls, begin: threading.Barrier = begin, made: list[object] = made) -> None:
            begin.wait(30)
            made.append(cls(1))

        running = [threading.Thread(target=make) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(30)
        assert made == [cls(1)] * threads


def test_a_class_is_the_only_one_of_its_kind() -> None:
    assert Derived(first=1, third=2).twice == 4
    gc.collect()
    assert Base.__subclasses__() == [Derived]


def test_the_import_of_the_package_completes_no_class() -> None:
    count = (
        "import stackwright, stackwright._record as r, sys\n"
        "print([c for m in list(sys.modules.values()) if (m.__name__ or '').startswith('stackwright')"
        " for c in vars(m).values() if isinstance(c, type) and '__dataclass_fields__' in vars(c)"
        " and not isinstance(vars(c)['__init__'], r._Deferred)], 'dataclasses' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", count], capture_output=True, check=True, text=True).stdout
    assert shown == "[] False\n"


if TYPE_CHECKING:
    # The checker sees data classes: these lines are errors that it finds.
    Point("1")  # type: ignore[arg-type]
    Derived(first=1)  # type: ignore[call-arg]
    Base(1)  # type: ignore[call-arg]
