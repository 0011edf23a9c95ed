"""Which keys a case may use. A key that is not here fails the case: nothing of a case is passed over in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


SESSION = _keys(
    """
    rules mode prompt hooks hooks_in_one_matcher callback stub_tools tool_schema options agent platform
    trust_project cancel_after_s wait_s question_timeout_s
    """
)
CALLS = _keys(
    """
    tool input tool_uses construct
    """
)
PARKED = _keys(
    """
    gates resume_gate_says resume_with resume_with_ordered resume_options resume_again_same then_resume_again
    then_load_again new_process killed rules_at_resume tools_at_resume schema_at_resume send_user_text
    expires_in_s model_after_resume model_if_called_again_returns turns_before export_damaged
    import_into_two_stores resume_a
    """
)
MODEL = _keys(
    """
    run model_turns model_turns_repeat stream_attempts error retry_after saved_messages saved_assistant_content
    then_user_text then_new_process_user_text while_tool_runs_send_user_text cancel_while_tool_runs
    """
)
FILES = _keys(
    """
    file_text file_text_prefix_bom file_mode file_is_symlink_to file_absent files git_repo file_tracked
    dir_readonly middle_dir_readonly symlink_chain session_loaded_before then_file_text
    then_file_edited_removing processes tasks remember remember_twice remember_each load load_then_check
    load_then_check_all check then_check then_check_all reload scope n then_load_again
    """
)
RULE = _keys(
    """
    rules cwd home platform fs tool input
    """
)
TABLE = _keys(
    """
    rules cwd home platform tool input command links dirs files settings_root source additional_dirs mode
    case_insensitive_fs
    """
)

SCENE_KEYS: dict[str, frozenset[str]] = {
    "rule": RULE,
    "shell_table": TABLE,
    "path_table": TABLE,
    "hook": SESSION | CALLS,
    "callback": SESSION | CALLS,
    "question": SESSION | frozenset(("input", "answers", "annotations")),
    "settings": SESSION | FILES,
    "resume": SESSION | CALLS | PARKED,
    "transcript": SESSION | CALLS | PARKED | MODEL,
}

HOOK_KEYS = _keys(
    """
    returns raises sleeps_s timeout_s matcher mutates_input
    """
)
CALLBACK_KEYS = _keys(
    """
    returns first_returns returns_raw by_tool_use_id delay_s raises parameters async answers echo_input
    """
)


class UnknownKey(AssertionError):
    """A case uses a key that nobody here knows how to read."""


def check_keys(used: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raises UnknownKey naming the place and every key that is not known there."""
    unknown = sorted(set(used) - set(known))
    if unknown:
        raise UnknownKey(f"{where}: unknown key {', '.join(map(repr, unknown))}")


def check_scene(kind: str, scene: Mapping[str, Any]) -> None:
    """Every key of a scene is one that the adapter of its kind reads. Raises UnknownKey."""
    if kind not in SCENE_KEYS:
        raise UnknownKey(f"unknown kind {kind!r}")
    check_keys(scene, SCENE_KEYS[kind], kind)
    for hook in scene.get("hooks") or ():
        check_keys(hook, HOOK_KEYS, "hooks[]")
    callback = scene.get("callback")
    if callback is not None:
        check_keys(callback, CALLBACK_KEYS, "callback")
