"""Checks on settings files and on what they say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.conformance.expect import Seen, expects, listed, same
from tests.conformance.settings_world import mode_bits


def _data(seen: Seen, when: str = "after") -> bytes:
    data = seen.record.facts.get(when)
    assert isinstance(data, bytes), "there is no settings file"
    return data


def _text(seen: Seen, when: str = "after") -> str:
    return _data(seen, when).decode("utf-8-sig")


def _json(seen: Seen, when: str = "after") -> dict[str, Any]:
    text = _text(seen, when)
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise AssertionError(f"the file is no JSON ({error}): {text!r}") from None


def _rules(seen: Seen, behavior: str, when: str = "after") -> list[str]:
    if seen.record.facts.get(when) is None:
        return []
    return list(_json(seen, when).get("permissions", {}).get(behavior, []))


def _saved_rules(seen: Seen) -> list[str]:
    """The allow rules that were not there before."""
    try:
        old = _rules(seen, "allow", "before")
    except AssertionError:
        old = []
    return [rule for rule in _rules(seen, "allow") if rule not in old]


@expects("file_bytes_unchanged")
def file_bytes_unchanged(seen: Seen, wanted: bool) -> None:
    """The file holds the very bytes that were last put there."""
    same(seen.record.facts.get("after") == seen.record.facts.get("before"), wanted)


@expects("json_equal_except")
def json_equal_except(seen: Seen, wanted: Any) -> None:
    """The file says what it said, but for these paths."""
    before, after = _json(seen, "before"), _json(seen)
    for path in listed(wanted):
        before, after = _without(before, path.split(".")), _without(after, path.split("."))
    same(after, before)


def _without(value: Any, path: list[str]) -> Any:
    if not isinstance(value, Mapping):
        return value
    if len(path) == 1:
        return {key: item for key, item in value.items() if key != path[0]}
    return {key: _without(item, path[1:]) if key == path[0] else item for key, item in value.items()}


@expects("allow_len")
def allow_len(seen: Seen, wanted: int) -> None:
    """So many allow rules are in the file."""
    rules = _rules(seen, "allow")
    same(len(rules), wanted, str(rules))


@expects("allow_contains")
def allow_contains(seen: Seen, wanted: Any) -> None:
    """Each of these allow rules is in the file."""
    missing = [rule for rule in listed(wanted) if rule not in _rules(seen, "allow")]
    assert not missing, f"missing: {missing}"


@expects("allow_not_contains")
def allow_not_contains(seen: Seen, wanted: Any) -> None:
    """None of these allow rules is in the file."""
    found = [rule for rule in listed(wanted) if rule in _rules(seen, "allow")]
    assert not found, f"found: {found}"


@expects("deny")
def deny(seen: Seen, wanted: list[str]) -> None:
    """The deny rules in the file."""
    same(_rules(seen, "deny"), wanted)


@expects("ask")
def ask(seen: Seen, wanted: list[str]) -> None:
    """The ask rules in the file."""
    same(_rules(seen, "ask"), wanted)


@expects("all_old_rules_kept")
def all_old_rules_kept(seen: Seen, wanted: bool) -> None:
    """Every rule that was in the file still is."""
    lost = [
        f"{behavior}: {rule}"
        for behavior in ("allow", "ask", "deny")
        for rule in _rules(seen, behavior, "before")
        if rule not in _rules(seen, behavior)
    ]
    same(not lost, wanted, str(lost))


@expects("no_saved_rule_contains")
def no_saved_rule_contains(seen: Seen, wanted: Any) -> None:
    """No rule that was saved contains any of these texts."""
    found = [rule for rule in _saved_rules(seen) if any(part in rule for part in listed(wanted))]
    assert not found, str(found)


@expects("saved_rule_max_len")
def saved_rule_max_len(seen: Seen, wanted: int) -> None:
    """No rule that was saved is longer."""
    found = [rule for rule in _saved_rules(seen) if len(rule) > wanted]
    assert not found, str(found)


@expects("text_contains")
def text_contains(seen: Seen, wanted: Any) -> None:
    """Each of these texts is in the file."""
    missing = [part for part in listed(wanted) if part not in _text(seen)]
    assert not missing, f"missing: {missing}"


@expects("text_not_contains")
def text_not_contains(seen: Seen, wanted: Any) -> None:
    """None of these texts is in the file."""
    if seen.record.facts.get("after") is None:
        return
    found = [part for part in listed(wanted) if part in _text(seen)]
    assert not found, f"found: {found}"


@expects("file_is_valid_json")
def file_is_valid_json(seen: Seen, wanted: bool) -> None:
    """The file is JSON."""
    try:
        _json(seen)
    except AssertionError as error:
        same(False, wanted, str(error))
    else:
        same(True, wanted)


@expects("file_mode")
def file_mode(seen: Seen, wanted: Any) -> None:
    """The mode bits of the file."""
    mode = seen.record.facts.get("mode")
    assert mode is not None, "there is no settings file"
    same(oct(mode), oct(mode_bits(wanted)))


@expects("link_still_link")
def link_still_link(seen: Seen, wanted: bool) -> None:
    """The settings file is still a link."""
    same(seen.record.facts.get("is_link"), wanted)


@expects("target_updated")
def target_updated(seen: Seen, wanted: bool) -> None:
    """What the link leads to was changed."""
    facts = seen.record.facts
    same(facts.get("target") != facts.get("before"), wanted)


@expects("key_order_kept")
def key_order_kept(seen: Seen, wanted: bool) -> None:
    """The keys that were there stand in the same order, at every level."""
    same(_orders_agree(_json(seen, "before"), _json(seen)), wanted)


def _orders_agree(before: Any, after: Any) -> bool:
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return True
    kept = [key for key in after if key in before]
    return kept == list(before) and all(_orders_agree(before[key], after[key]) for key in kept)


@expects("comments_kept")
def comments_kept(seen: Seen, wanted: bool) -> None:
    """Every line with a comment is still in the file."""
    comments = [line for line in _text(seen, "before").splitlines() if "//" in line or "/*" in line]
    text = _text(seen)
    same(all(line.strip() in text for line in comments), wanted)


@expects("load_raises")
def load_raises(seen: Seen, wanted: bool) -> None:
    """Loading the file raised the error that such files raise."""
    errors = [error for error in seen.record.raised if error.where == "load"]
    same(bool(errors), wanted, str([error.text for error in errors]))
    other = [error.details for error in errors if error.type not in ("SettingsError", "RuleError")]
    assert not other, other[0]


@expects("reader_never_saw_invalid_json")
def reader_never_saw_invalid_json(seen: Seen, wanted: bool) -> None:
    """Whoever read the file meanwhile always found JSON."""
    invalid = seen.record.facts.get("reader_saw")
    assert invalid is not None, "nobody read"
    same(not invalid, wanted, str(invalid[:1]))


@expects("git_check_ignore")
def git_check_ignore(seen: Seen, wanted: bool) -> None:
    """Git ignores the file."""
    same(seen.record.facts.get("ignored"), wanted)


@expects("no_temp_files_left")
def no_temp_files_left(seen: Seen, wanted: bool) -> None:
    """Beside the file, and beside each link to it, there is nothing new but a lock."""
    leftovers = seen.record.facts.get("leftovers")
    same(not leftovers, wanted, str(leftovers))


@expects("call_still_executed")
def call_still_executed(seen: Seen, wanted: bool) -> None:
    """The call that was to be remembered ran."""
    same(bool(seen.record.facts.get("remembered_ran")), wanted)


@expects("warning_at_save")
def warning_at_save(seen: Seen, wanted: bool) -> None:
    """The receipt, or a diagnostic, says that an ask rule still asks."""
    told = [text for text in (*seen.record.diagnostics, *seen.record.remarks) if "still ask" in text.lower()]
    same(bool(told), wanted)


@expects("then_behavior")
def then_behavior(seen: Seen, wanted: str) -> None:
    """How the second call went: `allow` ran without asking, `ask` asked the callback, `deny` did neither."""
    same(seen.record.facts.get("then"), wanted)


@expects("as_listed")
def as_listed(seen: Seen, wanted: bool) -> None:
    """Each call of the list went as the list says."""
    checked = seen.record.facts.get("listed")
    assert checked, f"nothing was checked: {seen.record.facts.get('no_verdict')}"
    other = [f"{call}: expected {behavior}, seen {how}" for call, behavior, how in checked if behavior != how]
    same(not other, wanted, "; ".join(other))
