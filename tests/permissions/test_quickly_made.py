"""Values that are made for every call: made by a shorter way, and still what a frozen dataclass is."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields, make_dataclass, replace
from typing import Any

import pytest

from agent_sdk import Allow, Verdict
from agent_sdk.calls import ToolCall
from agent_sdk.decisions import Considered
from agent_sdk.values import quickly_made

CALL = ToolCall(id="t", tool="Read", said={"file_path": "a"}, effective={"file_path": "b"}, cwd="/w")
VALUES: list[Any] = [
    CALL,
    Considered(step="mode"),
    Considered(step="deny_rules", said="deny", by="Bash(rm:*)", where="options deny[0]", note="n", took_us=3),
    Verdict(behavior="allow", call=CALL, decision=Allow(), by="mode", trace=(Considered(step="mode"),)),
]
by_class = pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)


@by_class
def test_it_holds_what_it_was_given(value: Any) -> None:
    """Every field by its name, and the default of each that was not given."""
    given = {field.name: getattr(value, field.name) for field in fields(value)}
    assert type(value)(**given) == value
    needed = {field.name: given[field.name] for field in fields(value) if field.default is MISSING}
    least = type(value)(**needed)
    for field in fields(value):
        assert getattr(least, field.name) == needed.get(field.name, field.default)


@by_class
def test_it_is_frozen(value: Any) -> None:
    """Nothing can be set, added or taken away."""
    for name in (*(field.name for field in fields(value)), "other"):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, "x")
    with pytest.raises(FrozenInstanceError):
        delattr(value, fields(value)[0].name)


@by_class
def test_it_is_copied_and_told_as_a_dataclass_is(value: Any) -> None:
    """`replace`, copies, pickles, and what `repr` says."""
    assert replace(value) == copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert repr(value).startswith(f"{type(value).__name__}({fields(value)[0].name}=")


@by_class
def test_its_signature_is_that_of_a_dataclass(value: Any) -> None:
    """Keyword-only, with the types and defaults of the fields; what does not fit is named."""
    cls = type(value)
    plain = dataclass(frozen=True, kw_only=True)(
        make_dataclass(
            "Plain", [(field.name, field.type, field) for field in map(copy.copy, fields(cls))], kw_only=True
        )
    )
    assert inspect.signature(cls) == inspect.signature(plain)
    with pytest.raises(TypeError, match=rf"{cls.__name__}\.__init__\(\) got an unexpected keyword argument 'nothing'"):
        cls(nothing=1)
    with pytest.raises(TypeError, match=r"missing \d+ required keyword-only argument|takes 1 positional argument"):
        cls()
    with pytest.raises(TypeError, match="positional argument"):
        cls("x")


@dataclass(frozen=True, kw_only=True, slots=True)
class Slotted:
    """Has no dictionary."""

    x: int


@dataclass(frozen=True, kw_only=True)
class Careful:
    """Looks at what it was given."""

    x: int

    def __post_init__(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Factory:
    """Makes a default anew for each."""

    x: list[int] = dataclasses.field(default_factory=list)


@pytest.mark.parametrize("cls", [Slotted, Careful, Factory])
def test_a_class_whose_init_does_more_is_refused(cls: type[Any]) -> None:
    """Nothing that `dataclass` would have done is left out unseen."""
    with pytest.raises(TypeError, match=cls.__name__):
        quickly_made(cls)
