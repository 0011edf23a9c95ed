"""Permission updates as values and in their wire form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_sdk.config import MODES
from agent_sdk.decisions import PermissionUpdate as SameUpdate
from agent_sdk.errors import OptionsError
from agent_sdk.updates import DESTINATIONS, PermissionRule, PermissionUpdate

WIRE: list[tuple[PermissionUpdate, dict[str, Any]]] = [
    (
        PermissionUpdate.add_rules([PermissionRule("Bash", "npm test"), PermissionRule("WebSearch")]),
        {
            "type": "addRules",
            "destination": "session",
            "rules": [{"toolName": "Bash", "ruleContent": "npm test"}, {"toolName": "WebSearch"}],
            "behavior": "allow",
        },
    ),
    (
        PermissionUpdate.replace_rules([], behavior="deny", destination="localSettings"),
        {"type": "replaceRules", "destination": "localSettings", "rules": [], "behavior": "deny"},
    ),
    (
        PermissionUpdate.remove_rules([PermissionRule("Read", "//x")], behavior="ask", destination="userSettings"),
        {
            "type": "removeRules",
            "destination": "userSettings",
            "rules": [{"toolName": "Read", "ruleContent": "//x"}],
            "behavior": "ask",
        },
    ),
    (
        PermissionUpdate.set_mode("acceptEdits", destination="projectSettings"),
        {"type": "setMode", "destination": "projectSettings", "mode": "acceptEdits"},
    ),
    (
        PermissionUpdate.add_directories(["../lib"]),
        {"type": "addDirectories", "destination": "session", "directories": ["../lib"]},
    ),
    (
        PermissionUpdate.remove_directories(["../lib", "/x"]),
        {"type": "removeDirectories", "destination": "session", "directories": ["../lib", "/x"]},
    ),
]


@pytest.mark.parametrize(("update", "wire"), WIRE, ids=[wire["type"] for _, wire in WIRE])
def test_wire_form(update: PermissionUpdate, wire: dict[str, Any]) -> None:
    """Each kind has its own wire form, and is read back from it."""
    assert update.to_dict() == wire
    assert PermissionUpdate.from_dict(wire) == update


def test_one_class_under_both_names() -> None:
    """The class is the same wherever it is imported from."""
    assert SameUpdate is PermissionUpdate


def test_whole_tool_has_no_content() -> None:
    """`ruleContent` is left out for the whole tool, however that was written."""
    for specifier in (None, "", "*"):
        assert PermissionRule("Bash", specifier).to_dict() == {"toolName": "Bash"}
        assert str(PermissionRule("Bash", specifier)) == "Bash"
    assert PermissionRule.from_dict({"toolName": "Bash", "ruleContent": None}) == PermissionRule("Bash")


def test_no_destination_is_the_session() -> None:
    """`None` stands for the session, in the constructor, the class and the wire form."""
    rule = PermissionRule("Bash")
    assert PermissionUpdate.add_rules([rule], destination=None).destination == "session"
    assert PermissionUpdate(type="setMode", mode="plan", destination=None).destination == "session"  # type: ignore[arg-type]
    assert PermissionUpdate.from_dict({"type": "setMode", "mode": "plan", "destination": None}).destination == "session"


def test_fields_that_a_kind_does_not_take_may_be_none() -> None:
    """The interop class leaves the fields of other kinds at `None`, and so may its users."""
    update = PermissionUpdate(type="setMode", mode="plan", rules=None, directories=None)  # type: ignore[arg-type]
    assert update == PermissionUpdate.set_mode("plan")


def test_at_another_destination() -> None:
    """`at` moves an update and keeps what it is."""
    update = PermissionUpdate.add_rules([PermissionRule("Bash")], rung=1, covers="x").at("userSettings")
    assert (update.destination, update.rung, update.covers) == ("userSettings", 1, "x")


WRONG: dict[str, Callable[[], Any]] = {
    "type": lambda: PermissionUpdate.from_dict({"type": "addRule", "rules": [], "behavior": "allow"}),
    "no type": lambda: PermissionUpdate.from_dict({}),
    "destination": lambda: PermissionUpdate.from_dict({"type": "setMode", "mode": "plan", "destination": "cliArg"}),
    "destination list": lambda: PermissionUpdate.from_dict({"type": "setMode", "mode": "plan", "destination": ["x"]}),
    "mode": lambda: PermissionUpdate.set_mode("yolo"),  # type: ignore[arg-type]
    "no mode": lambda: PermissionUpdate.from_dict({"type": "setMode"}),
    "no behavior": lambda: PermissionUpdate.from_dict({"type": "addRules", "rules": [{"toolName": "Bash"}]}),
    "behavior": lambda: PermissionUpdate.add_rules([PermissionRule("Bash")], behavior="yes"),  # type: ignore[arg-type]
    "no rules": lambda: PermissionUpdate.add_rules([]),
    "rules as texts": lambda: PermissionUpdate.add_rules(["Bash"]),  # type: ignore[list-item]
    "rules as dicts": lambda: PermissionUpdate.from_dict({"type": "addRules", "rules": ["Bash"], "behavior": "allow"}),
    "rule without a tool": lambda: PermissionUpdate.from_dict(
        {"type": "addRules", "rules": [{"ruleContent": "x"}], "behavior": "allow"}
    ),
    "rule content of a number": lambda: PermissionRule.from_dict({"toolName": "Bash", "ruleContent": 1}),
    "bracket in a tool": lambda: PermissionRule("Bash(ls"),
    "empty tool": lambda: PermissionRule(""),
    "no directories": lambda: PermissionUpdate.add_directories([]),
    "a text as directories": lambda: PermissionUpdate.from_dict({"type": "addDirectories", "directories": "/x"}),
    "an empty directory": lambda: PermissionUpdate.add_directories([""]),
    "mode beside rules": lambda: PermissionUpdate(
        type="addRules", rules=(PermissionRule("Bash"),), behavior="allow", mode="plan"
    ),
    "rules beside mode": lambda: PermissionUpdate(type="setMode", mode="plan", rules=(PermissionRule("Bash"),)),
    "unknown field": lambda: PermissionUpdate.from_dict({"type": "setMode", "mode": "plan", "rung": 1}),
    "unclosed rule": lambda: PermissionRule.from_text("Bash(ls"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_refused_when_built(name: str) -> None:
    """An update that means nothing cannot be made."""
    with pytest.raises(OptionsError):
        WRONG[name]()


RULES = st.builds(
    PermissionRule,
    st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,8}", fullmatch=True),
    st.none() | st.text(st.sampled_from("ab *()\\é"), max_size=8),
)
UPDATES = st.one_of(
    st.builds(
        PermissionUpdate.add_rules,
        st.lists(RULES, min_size=1, max_size=3),
        behavior=st.sampled_from(["allow", "ask", "deny"]),
        destination=st.sampled_from(DESTINATIONS),
    ),
    st.builds(PermissionUpdate.set_mode, st.sampled_from(MODES), destination=st.sampled_from(DESTINATIONS)),
    st.builds(PermissionUpdate.add_directories, st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3)),
)


@settings(deadline=None)
@given(UPDATES)
def test_read_after_write_is_the_identity(update: PermissionUpdate) -> None:
    """Every update survives its wire form."""
    assert PermissionUpdate.from_dict(update.to_dict()) == update


@settings(deadline=None)
@given(RULES)
def test_rule_text_is_read_back(rule: PermissionRule) -> None:
    """Every rule survives its text."""
    assert PermissionRule.from_text(str(rule)) == rule
