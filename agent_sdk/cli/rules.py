"""`agent-sdk rules`: every rule in force with its place; `rules remove` takes one out of the files that hold it."""

from __future__ import annotations

import argparse
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from agent_sdk.cli.command import Command, Exit, Problem, add_policy_arguments, add_settings_argument, directory
from agent_sdk.config import SettingSource
from agent_sdk.errors import OptionsError
from agent_sdk.permissions.policy import extra_before, rules_from_options
from agent_sdk.render.text import visible
from agent_sdk.rules.lint import lint
from agent_sdk.rules.rule import Rule, RuleBehavior, star_moved_inside
from agent_sdk.settings.changes import read_item
from agent_sdk.settings.document import read_document
from agent_sdk.settings.extra import read_extra
from agent_sdk.settings.files import SOURCE_OF, SOURCES, LoadedSettings, SettingsPlaces, load_from
from agent_sdk.settings.memory import SessionMemory
from agent_sdk.settings.remember import Keeper
from agent_sdk.updates import Destination, PermissionRule, PermissionUpdate
from agent_sdk.values import Json, JsonObject, to_text

_ORDER: tuple[RuleBehavior, ...] = ("deny", "ask", "allow")


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `rules` and of `rules remove`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_settings_argument(parser)
    add_policy_arguments(parser)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action")
    words = "take a rule out of the settings files"
    remove = actions.add_parser("remove", help=words, description=words)
    remove.add_argument("rule", metavar="RULE", help="the rule as it is written, such as 'Bash(npm test)'")
    words = "the file (default: the only one that holds the rule)"
    remove.add_argument("--from", dest="source", choices=SOURCES, help=words)
    remove.add_argument("--behavior", choices=_ORDER, help="the list (default: every one that holds the rule)")
    kept = argparse.SUPPRESS  # what was given before `remove` counts
    remove.add_argument("--cwd", default=kept, metavar="DIR", help="working directory (default: this one)")
    remove.add_argument("--json", action="store_true", default=kept, help="print JSON")


def run_rules(arguments: Namespace) -> int:
    """List or remove. Exit code 0; 1 when there was no such rule. Raises Problem, SettingsError, RuleError."""
    places = SettingsPlaces(cwd=os.path.abspath(directory(arguments.cwd)), home=os.path.expanduser("~"))
    return _remove(arguments, places) if arguments.action == "remove" else _list(arguments, places)


def _list(arguments: Namespace, places: SettingsPlaces) -> int:
    given = rules_from_options(places.cwd, allow=arguments.allow, ask=arguments.ask, deny=arguments.deny)
    loaded = load_from(places, arguments.setting_sources, arguments.trust_project)
    if arguments.settings is not None:
        loaded = extra_before(read_extra(arguments.settings, cwd=places.cwd, home=places.home), loaded)
    rules = [rule for behavior in _ORDER for rule in (*given, *loaded.rules) if rule.behavior == behavior]
    found = (*loaded.warnings, *lint(rules, cwd=places.cwd, home=places.home))
    warnings = tuple(dict.fromkeys(found))  # what is told when rules are read is a remark as well
    mode = arguments.mode or loaded.default_mode or "default"
    if arguments.json:
        print(to_text(_as_json(places, rules, mode, loaded, warnings)))
    else:
        print("\n".join(visible(line) for line in _lines(places, rules, mode, loaded, warnings)))
    return Exit.OK


def _as_json(
    places: SettingsPlaces, rules: Sequence[Rule], mode: str, loaded: LoadedSettings, warnings: Sequence[str]
) -> JsonObject:
    """The JSON form of the list. Fields are only ever added."""
    return {
        "cwd": places.cwd,
        "mode": mode,
        "rules": [
            {
                "behavior": rule.behavior,
                "rule": rule.text,
                "scope": rule.source.scope,
                "file": rule.source.file,
                "position": rule.position,
            }
            for rule in rules
        ],
        "additional_directories": list(loaded.additional_directories),
        "files": list(loaded.files),
        "warnings": list(warnings),
    }


def _lines(
    places: SettingsPlaces, rules: Sequence[Rule], mode: str, loaded: LoadedSettings, warnings: Sequence[str]
) -> list[str]:
    widest = min(max((len(rule.text) for rule in rules), default=0), 60)
    lines = [f"Rules in force in {places.cwd}:"]
    for rule in rules:
        source = "" if rule.source.file is None else f"{rule.source.scope}: "
        lines.append(f"  {rule.behavior:<5}  {rule.text:<{widest}}  {source}{rule.where}")
    lines += [] if rules else ["  none: whatever no mode allows is asked"]
    lines.append(f"Mode: {mode}")
    lines += [f"Directory: {folder}" for folder in loaded.additional_directories]
    lines += [f"Warning: {warning}" for warning in warnings]
    return lines


def _remove(arguments: Namespace, places: SettingsPlaces) -> int:
    rule = _rule(arguments.rule)
    held = [
        (source, behavior)
        for source in ([arguments.source] if arguments.source else SOURCES)
        for behavior in _holding(places, source, rule)
        if arguments.behavior in (None, behavior)
    ]
    sources = list(dict.fromkeys(source for source, _ in held))
    if len(sources) > 1:
        where = ", ".join(places.path(source) for source in sources)
        raise Problem(f"{rule} stands in {len(sources)} files", where=where, to_do=f"say --from {' or '.join(sources)}")
    if not held:
        looked = ", ".join(places.path(one) for one in ([arguments.source] if arguments.source else SOURCES))
        print(to_text([]) if arguments.json else visible(f"There is no rule {rule} in {looked}."))
        return Exit.NO
    updates = [
        PermissionUpdate.remove_rules([rule], behavior=behavior, destination=_destination(source))
        for source, behavior in held
    ]
    done = Keeper(places=places, sources=SOURCES).carry_out(updates, SessionMemory())
    for receipt in done.receipts:
        if receipt.failed is not None:
            to_do = "mend what is named and try again"
            raise Problem(receipt.failed, where=str(receipt.file), to_do=to_do, code=Exit.ENVIRONMENT)
        told: JsonObject = {"file": receipt.file, "removed": list(receipt.removed)}
        told_to_people = f"Removed from {receipt.file}: {', '.join(receipt.removed)}"
        print(to_text([told]) if arguments.json else visible(told_to_people))
    return Exit.OK


def _rule(text: str) -> PermissionRule:
    try:
        return PermissionRule.from_text(star_moved_inside(text) or text)
    except OptionsError as error:
        raise Problem(str(error), where="the argument RULE", to_do="give it as it is written in the file") from None


def _holding(places: SettingsPlaces, source: SettingSource, rule: PermissionRule) -> list[RuleBehavior]:
    """The lists of this file in which the rule stands. Raises SettingsError for a file that cannot be read."""
    path = places.path(source)
    document = read_document(path) if os.path.isabs(path) else None  # without a home there are no user settings
    top = document.value if document is not None else None
    permissions = top.get("permissions") if isinstance(top, dict) else None
    lists = permissions if isinstance(permissions, dict) else {}
    return [
        behavior for behavior in _ORDER if any(read_item(item, behavior) == rule for item in _items(lists, behavior))
    ]


def _items(lists: JsonObject, behavior: RuleBehavior) -> Sequence[Json]:
    value = lists.get(behavior)
    return [value] if isinstance(value, str) else value if isinstance(value, list) else []


def _destination(source: SettingSource) -> Destination:
    return next(destination for destination, named in SOURCE_OF.items() if named == source)


RULES = Command(
    name="rules",
    summary="every rule in force, and where it stands",
    add_arguments=add_arguments,
    run=run_rules,
)
