"""The runner's own judgement: a check that cannot fail would let every product pass."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from agent_sdk import Allow, Defer, Deny
from tests.conformance import conversation
from tests.conformance.adapters.by_kind import ADAPTERS
from tests.conformance.all_checks import Seen, failures, unknown_keys
from tests.conformance.cases_file import HANDED, Case, read_cases
from tests.conformance.child import ChildFailed, as_other_user, in_fresh_process
from tests.conformance.damage import damaged, kill_point
from tests.conformance.decided import decision, exception, hook_output
from tests.conformance.not_yet import NOT_YET
from tests.conformance.people import callback
from tests.conformance.rebase import rebased_command, rebased_input, rebased_rule
from tests.conformance.record import Ran, Record, RunSeen, Sent
from tests.conformance.script import Script
from tests.conformance.settings_world import World
from tests.conformance.vocabulary import SCENE_KEYS, UnknownKey, check_scene

ROOT = Path("/r")


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str = "hello") -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id_: str = "a") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {}}


def result(id_: str = "a", content: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


LEGAL = {
    "a prompt": [{"role": "user", "content": "hello"}],
    "a call and its result": [user(text()), assistant(text(), call()), user(result())],
    "results before text": [user(text()), assistant(call("a"), call("b")), user(result("a"), result("b"), text())],
    "a reply that is continued": [user(text()), assistant(text())],
    "two prompts in a row": [user(text()), user(text())],
}

ILLEGAL = {
    "nothing": ([], "no messages"),
    "begins with the assistant": ([assistant(text())], "first message"),
    "empty message": ([user()], "empty"),
    "empty text": ([user(text(" "))], "empty text"),
    "call without result": ([user(text()), assistant(call()), user(text())], "answered 0 times"),
    "call at the end": ([user(text()), assistant(call())], "answered 0 times"),
    "result one message late": (
        [user(text()), assistant(call()), user(text()), user(result())],
        "answered 0 times",
    ),
    "two results": ([user(text()), assistant(call()), user(result(), result())], "answered 2 times"),
    "result without call": ([user(text()), assistant(text()), user(result())], "has no call"),
    "text before a result": ([user(text()), assistant(call()), user(text(), result())], "behind other blocks"),
    "empty id": ([user(text()), assistant(call("")), user(result(""))], "ill-formed"),
    "one id twice": (
        [user(text()), assistant(call()), user(result()), assistant(call()), user(result())],
        "two calls",
    ),
    "empty error": (
        [user(text()), assistant(call()), user(result(content="", is_error=True))],
        "error result is empty",
    ),
    "image in an error": (
        [user(text()), assistant(call()), user(result(content=[{"type": "image"}], is_error=True))],
        "something else than text",
    ),
}


@pytest.mark.parametrize("messages", LEGAL.values(), ids=LEGAL.keys())
def test_a_legal_conversation_has_no_faults(messages: list[Any]) -> None:
    assert conversation.faults(messages) == []


@pytest.mark.parametrize(("messages", "fault"), ILLEGAL.values(), ids=ILLEGAL.keys())
def test_an_illegal_conversation_is_found_out(messages: list[Any], fault: str) -> None:
    assert any(fault in found for found in conversation.faults(messages))


def test_cache_marks_are_no_part_of_what_was_said() -> None:
    marked = [{**text(), "cache_control": {"type": "ephemeral"}}]
    assert conversation.without_cache_marks(marked) == [text()]


@pytest.mark.parametrize(
    ("rule", "moved"),
    [
        ("Read(//etc/shadow)", "Read(//r/etc/shadow)"),
        ("Read(./**)", "Read(./**)"),
        ("Read(/secrets/**)", "Read(/secrets/**)"),
        ("Bash(cat /etc/x)", "Bash(cat /r/etc/x)"),
        ("Edit", "Edit"),
        ("Read(//a)*", "Read(//r/a)*"),
    ],
)
def test_only_rules_at_the_root_move(rule: str, moved: str) -> None:
    assert rebased_rule(rule, ROOT) == moved


@pytest.mark.parametrize(
    ("command", "moved"),
    [
        ("cat /etc/x", "cat /r/etc/x"),
        ("cat a/b > '/tmp/x'", "cat a/b > '/r/tmp/x'"),
        ("echo //x /", "echo //x /"),
        ("cp -t=/a b", "cp -t=/r/a b"),
    ],
)
def test_words_that_are_absolute_paths_move(command: str, moved: str) -> None:
    assert rebased_command(command, ROOT) == moved


def test_an_input_moves_in_its_path_fields_only() -> None:
    moved = rebased_input({"file_path": "/a", "content": "/a"}, ROOT)
    assert moved == {"file_path": "/r/a", "content": "/a"}


def test_decisions_become_our_values() -> None:
    assert decision({"behavior": "allow", "updated_input": {"a": 1}}) == Allow({"a": 1})
    assert decision({"behavior": "deny", "message": "no", "interrupt": True}) == Deny("no", interrupt=True)
    assert decision({"behavior": "defer"}, expires_in_s=2) == Defer("", expires_in=2)


@pytest.mark.parametrize("raw", [None, True, "yes", {"result": "allow"}, {"behavior": "perhaps"}], ids=str)
def test_what_is_no_decision_is_handed_over_as_it_is(raw: Any) -> None:
    assert decision(raw) == raw


def test_an_argument_that_we_do_not_take_is_handed_over_all_the_same() -> None:
    with pytest.raises(TypeError, match="tool"):
        decision({"behavior": "allow", "tool": "Write"})


def test_a_hook_answers_in_the_dict_form() -> None:
    output = hook_output({"decision": "perhaps", "reason": "r", "updated_input": {}}, "PreToolUse")
    assert output["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "perhaps",
        "permissionDecisionReason": "r",
        "updatedInput": {},
    }
    assert hook_output({}, "PreToolUse") == {}
    assert hook_output("yes", "PreToolUse") == "yes"


def test_an_exception_is_raised_by_its_name() -> None:
    assert isinstance(exception("ValueError: broken"), ValueError)
    assert str(exception("ValueError: broken")) == "broken"
    assert type(exception("NoSuchError: broken")) is RuntimeError


@pytest.mark.anyio
async def test_a_callback_answers_by_the_id_of_the_call() -> None:
    record = Record()
    written = {"by_tool_use_id": {"t1": {"behavior": "deny", "message": "no"}, "t2": None, "t3": {"delay_s": 0.001}}}
    person = callback(written, record)

    class Context:
        tool_use_id = "t1"
        suggestions = ()

    context = Context()
    answers = []
    for id_ in ("t1", "t2", "t3", "t4"):
        context.tool_use_id = id_
        answers.append(await person("Bash", {}, context))
    assert answers == [Deny("no"), None, Allow(), Allow()]
    assert [asked.id for asked in record.asked] == ["t1", "t2", "t3", "t4"]


@pytest.mark.anyio
async def test_the_first_answer_may_differ() -> None:
    class Context:
        tool_use_id = "t1"
        suggestions = ()

    person = callback({"first_returns": None, "returns": {"behavior": "deny"}}, Record())
    assert [await person("Bash", {}, Context()) for _ in range(2)] == [None, Deny()]


def test_the_same_request_gets_the_same_reply_and_an_outage_ends() -> None:
    script = Script(turns=[{"error": 529}, {"content": ["one"]}, {"content": ["two"]}])
    replies = [script.reply(messages) for messages in ("m1", "m1", "m1", "m2", "m3")]
    assert [reply.get("content", reply.get("error")) for reply in replies[:4]] == [529, ["one"], ["one"], ["two"]]
    assert replies[4]["stop_reason"] == "end_turn"


JSONL = b'{"a": 1}\n{"b": 2}\n{"c": 3}\n'


@pytest.mark.parametrize(
    ("words", "after"),
    [
        ("one more record is added and cut in half, without a newline", JSONL + b'{"c"'),
        ("the bytes e3 81 are added at the end", JSONL + b"\xe3\x81"),
        ("the last line is cut in half", b'{"a": 1}\n{"b": 2}\n{"c"'),
        ("the middle line is cut in half", b'{"a": 1}\n{"b"\n{"c": 3}\n'),
        ("the first line is garbage", b'{"broken\n{"b": 2}\n{"c": 3}\n'),
        ("the second line is missing", b'{"a": 1}\n{"c": 3}\n'),
        ("the newline at the end is missing", JSONL[:-1]),
    ],
    ids=str,
)
def test_damage_is_done_as_described(words: str, after: bytes) -> None:
    assert damaged(JSONL, words) == after


def test_a_damage_that_nobody_knows_fails() -> None:
    with pytest.raises(UnknownKey):
        damaged(JSONL, "it is painted green")


@pytest.mark.parametrize(
    ("words", "point"),
    [
        (True, "in tool"),
        ("while the tool runs", "in tool"),
        ("after the tool ran, before its result is stored", "after tool"),
        ("before the tool starts", "before tool"),
        ("after the decision was stored", "before tool"),
        ("after the result is stored, before the model is asked", "after result"),
    ],
    ids=str,
)
def test_the_place_of_an_end_is_read_from_its_description(words: Any, point: str) -> None:
    assert kill_point(words) == point


def seen(kind: str = "hook", **record: Any) -> Seen:
    return Seen(Case(id="x", kind=kind, scene={}, expect={}), Record(**record))


def sent(*messages: Any) -> Sent:
    return Sent(run="first", body={"messages": list(messages)})


RAN = Ran(id="t1", tool="Bash", input={"command": "ls"}, run="first")
REQUEST = sent(user(text()), assistant(call("t1")), user(result("t1", "not today", is_error=True)))

HOLDS: dict[str, tuple[Seen, dict[str, Any]]] = {
    "executed": (seen(ran=[RAN]), {"executed": 1}),
    "inputs by id": (seen(ran=[RAN]), {"executed_inputs": {"t1": {"command": "ls"}}}),
    "denied": (seen(sent=[REQUEST]), {"behavior": "deny", "errors": ["t1"]}),
    "the result": (seen(sent=[REQUEST]), {"tool_result": {"is_error": True, "contains": ["not"]}}),
    "the next request": (seen(sent=[REQUEST]), {"next_request": {"valid": True, "tool_result_ids": ["t1"]}}),
    "one of two": (seen(), {"any_of": [{"executed": 1}, {"executed": 0}]}),
    "a verdict": (seen(verdicts=["ask"]), {"behavior_in": ["deny", "ask"]}),
    "unanswered": (
        seen(sent=[sent(user(text()), assistant(call()), user(result(content='Not answered: "Q?".')))]),
        {"tool_result": {"says_unanswered": ["Q?"]}},
    ),
    "bytes": (seen(facts={"before": b"{}", "after": b"{}"}), {"file_bytes_unchanged": True}),
    "json": (
        seen(facts={"before": b'{"a": 1, "b": {"c": 1}}', "after": b'{"b": {"c": 2}, "a": 1}'}),
        {"json_equal_except": ["b.c"], "key_order_kept": False},
    ),
    "ran within": (seen(runs=[RunSeen(name="first", seconds=1.0)]), {"finishes_within_s": 1.5}),
}

FAILS: dict[str, tuple[Seen, dict[str, Any]]] = {
    "executed": (seen(), {"executed": 1}),
    "allowed": (seen(sent=[REQUEST]), {"behavior": "allow"}),
    "no request": (seen(), {"next_request": {"valid": True}}),
    "invalid request": (seen(sent=[sent(user(text()), assistant(call()))]), {"next_request": {"valid": True}}),
    "unknown key": (seen(), {"executd": 0}),
    "unknown key of a result": (seen(sent=[REQUEST]), {"tool_result": {"contain": ["x"]}}),
    "unknown key of a request": (seen(sent=[REQUEST]), {"next_request": {"valdi": True}}),
    "none of two": (seen(), {"any_of": [{"executed": 1}, {"executed": 2}]}),
    "no settings file": (seen(), {"allow_contains": ["Bash"]}),
    "too slow": (seen(runs=[RunSeen(name="first", seconds=2.0)]), {"finishes_within_s": 1.5}),
    "not loaded": (seen(), {"loads_again": True}),
    "no verdict": (seen(facts={"no_verdict": "RuleError"}), {"behavior": "ask"}),
}


@pytest.mark.parametrize(("what", "expect"), HOLDS.values(), ids=HOLDS.keys())
def test_what_holds_has_no_failures(what: Seen, expect: dict[str, Any]) -> None:
    assert failures(what, expect) == []


@pytest.mark.parametrize(("what", "expect"), FAILS.values(), ids=FAILS.keys())
def test_what_does_not_hold_is_told(what: Seen, expect: dict[str, Any]) -> None:
    assert failures(what, expect)


SETTINGS = '{"permissions": {"allow": ["Bash(a)", "Bash(b)"], "deny": []}}'


def test_a_settings_file_lies_behind_as_many_links_as_the_case_says(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.build({"file_text": SETTINGS, "symlink_chain": 2, "file_mode": "0640"})
    assert world.file.is_symlink()
    assert world.file.resolve() == tmp_path / "work" / "proj" / "links-2" / "s.json"
    assert (world.project / "links-1" / "s.json").is_symlink()
    assert world.facts()["mode"] == 0o640


def test_a_rule_is_taken_out_and_nothing_else(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.build({"file_text": SETTINGS})
    world.remove_rule("Bash(a)")
    assert json.loads(world.file.read_text())["permissions"] == {"allow": ["Bash(b)"], "deny": []}
    assert world.facts()["before"] == world.facts()["after"]


def test_a_lock_is_no_temp_file_and_anything_else_is(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.build({"file_text": SETTINGS, "file_is_symlink_to": "../dotfiles/s.json"})
    folder = world.project / "dotfiles"
    (folder / "s.json.lock").touch()
    assert world.facts()["leftovers"] == []
    (folder / ".s.json.tmp").touch()
    assert world.facts()["leftovers"] == [str(folder / ".s.json.tmp")]


def test_git_ignores_what_its_exclude_file_names(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.build({"file_text": SETTINGS, "git_repo": True})
    assert world.facts()["ignored"] is False
    (world.project / ".git" / "info" / "exclude").write_text("/.claude/settings.local.json*\n")
    assert world.facts()["ignored"] is True


def write_somewhere(folder: Path) -> str:
    try:
        (folder / "x").touch()
    except PermissionError:
        return "refused"
    return "written"


def test_a_read_only_folder_refuses_the_other_user() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o555)
        assert as_other_user(write_somewhere, folder) == "refused"


def fail() -> None:
    raise ValueError("broken")


def test_a_fresh_process_hands_back_its_result_or_tells_its_error() -> None:
    assert in_fresh_process(os.getpid) != os.getpid()
    with pytest.raises(ChildFailed, match="broken"):
        in_fresh_process(fail)
    assert in_fresh_process(os._exit, 9, may_die=True) is None


def test_unknown_keys_are_found_inside_alternatives() -> None:
    assert unknown_keys({"executed": 1, "any_of": [{"executd": 1}]}) == ["executd"]


@pytest.mark.parametrize(
    "scene",
    [{"hook": []}, {"hooks": [{"return": {}}]}, {"callback": {"return": {}}}],
    ids=["scene", "hook", "callback"],
)
def test_a_key_that_nobody_reads_fails_the_case(scene: dict[str, Any]) -> None:
    with pytest.raises(UnknownKey):
        check_scene("hook", scene)


def test_every_kind_has_an_adapter_and_its_keys() -> None:
    assert set(ADAPTERS) == set(SCENE_KEYS)


def test_the_handed_cases_use_known_keys_only() -> None:
    for case in read_cases(HANDED):
        check_scene(case.kind, case.scene)
        assert unknown_keys(case.expect) == [], case.id


def test_the_list_of_expected_failures_names_handed_cases_only() -> None:
    assert set(NOT_YET) <= {case.id for case in read_cases(HANDED)}


def test_a_folder_may_hold_any_part_of_the_cases(tmp_path: Path) -> None:
    assert read_cases(tmp_path) == []
    (tmp_path / "behaviour").mkdir()
    case = {"id": "X1", "kind": "rule", "given": {"rules": {}}, "when": {"tool": "Bash", "input": {}}, "expect": {}}
    (tmp_path / "behaviour" / "X1.json").write_text(json.dumps(case), encoding="utf-8")
    assert [each.id for each in read_cases(tmp_path)] == ["X1"]
