"""`agent-sdk explain`: what would become of one call, and why. Asks nobody, runs nothing."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from agent_sdk.cli.command import (
    Command,
    Exit,
    Problem,
    add_policy_arguments,
    add_settings_argument,
    directory,
    say_aside,
)
from agent_sdk.decisions import Verdict
from agent_sdk.permissions.policy import PermissionPolicy
from agent_sdk.render.shell import take_apart
from agent_sdk.render.text import visible
from agent_sdk.rules.facts import near_tool
from agent_sdk.rules.suggestions import narrowest
from agent_sdk.sessions.codec import verdict_to_json
from agent_sdk.values import JsonObject, to_text


def add_arguments(parser: ArgumentParser) -> None:
    """The options of `explain`."""
    parser.add_argument("tool", metavar="TOOL", help="name of the tool, such as Bash")
    parser.add_argument("input", metavar="JSON", help='the call\'s input, such as \'{"command": "ls"}\'')
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON")
    add_settings_argument(parser)
    add_policy_arguments(parser)


def run_explain(arguments: Namespace) -> int:
    """Print the verdict. Exit code 0 for allow, 1 for ask and deny. Raises Problem, RuleError,
    SettingsError or OptionsError."""
    tool: str = arguments.tool
    policy = load_policy(arguments, cwd=directory(arguments.cwd), settings=arguments.settings)
    tool_input = _input(arguments.input)
    remark_on_tools([tool])
    verdict = policy.evaluate(tool, tool_input)
    rules = _covering_rules(policy, verdict, tool_input)
    if arguments.json:
        print(to_text({**verdict_to_json(verdict), "covering_rules": rules}))
    else:
        print(visible(verdict.explain()))
        for line in _missing(policy, verdict, rules):
            print(visible(f"  {line}"))
    return Exit.OK if verdict.behavior == "allow" else Exit.NO


def remark_on_tools(names: Iterable[str]) -> None:
    """Say on standard error which of these names look like mistaken ones of well-known tools."""
    for name in dict.fromkeys(names):
        if (near := near_tool(name)) is not None:
            say_aside(visible(f"warning: no well-known tool is called {name}; did you mean {near}?"))


def _covering_rules(policy: PermissionPolicy, verdict: Verdict, tool_input: JsonObject) -> list[str]:
    """The narrowest allow rule for each part of a call that nothing covers."""
    if verdict.by != "nothing":
        return []
    updates = narrowest(policy.suggest(verdict.call.tool, tool_input), "local")
    return [str(rule) for update in updates for rule in update.rules]


def _missing(policy: PermissionPolicy, verdict: Verdict, rules: Sequence[str]) -> list[str]:
    """What people are told of a call that nothing covers: commands of a plain line, files, rules that would do."""
    if verdict.by != "nothing":
        return []
    lines: list[str] = []
    command = verdict.call.effective.get("command")
    apart = take_apart(command) if verdict.call.tool == "Bash" and isinstance(command, str) else None
    if apart is not None and len(apart.steps) > 1:
        alone = [step for step in apart.steps if policy.evaluate("Bash", {"command": step}).behavior != "allow"]
        lines += [f"nothing covers its part: {step}" for step in alone]
    lines += [f"writes to a file, which is judged as Edit: {path}" for path in (apart.writes if apart else ())]
    if rules:
        return [*lines, f"rules that would cover it: {', '.join(rules)}"]
    return [*lines, "no rule is suggested for such a call: docs/remembering.md lists them"]


def load_policy(arguments: Namespace, *, cwd: str, settings: str | None) -> PermissionPolicy:
    """The policy that the options of `add_policy_arguments` name, for the directory `cwd`.

    `settings` is one more settings file, or its JSON text. Raises RuleError, SettingsError or OptionsError.
    """
    return PermissionPolicy.load(
        cwd=cwd,
        mode=arguments.mode,
        allow=arguments.allow,
        ask=arguments.ask,
        deny=arguments.deny,
        setting_sources=arguments.setting_sources,
        trust_project=arguments.trust_project,
        settings=settings,
    )


def _input(text: str) -> JsonObject:
    """The call's input. Raises Problem for anything but a JSON object."""
    to_do = 'give the tool\'s input as one JSON object, such as \'{"command": "ls"}\''
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"the argument JSON, line {error.lineno}, column {error.colno}"
        raise Problem(f"this is not JSON: {error.msg}", where=where, to_do=to_do) from None
    except (ValueError, RecursionError) as error:
        raise Problem(f"this is not JSON: {error}", where="the argument JSON", to_do=to_do) from None
    if not isinstance(value, Mapping):
        raise Problem("the input of a tool is a JSON object", where="the argument JSON", to_do=to_do)
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


EXPLAIN = Command(
    name="explain",
    summary="the verdict for one call and how it came about, asking nobody",
    add_arguments=add_arguments,
    run=run_explain,
)
