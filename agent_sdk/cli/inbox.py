"""`agent-sdk pending`, `show` and `answer`: parked calls, looked at and answered from any process."""

from __future__ import annotations

import json
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import NoReturn

import anyio

from agent_sdk.cli.command import Command, Exit, Problem
from agent_sdk.cli.show import call_line
from agent_sdk.cli.stores import (
    ELSEWHERE,
    add_store_argument,
    check_known,
    moment_words,
    span_words,
    store_of,
    store_words,
)
from agent_sdk.cli.wire import approval_to_json
from agent_sdk.decisions import Allow, Deny, trace_lines
from agent_sdk.errors import DeferralError
from agent_sdk.inbox import Inbox
from agent_sdk.render.card import Questions
from agent_sdk.render.text import visible
from agent_sdk.render.tools import render_call
from agent_sdk.sessions.codec import trace_from_json
from agent_sdk.sessions.records import PendingApproval
from agent_sdk.sessions.store import DeferralStore
from agent_sdk.terminal.draw import card_lines, question_lines
from agent_sdk.tools.ask_user_question import NAME as QUESTION_TOOL
from agent_sdk.values import Json, JsonObject, to_text


def add_pending_arguments(parser: ArgumentParser) -> None:
    """The options of `pending`."""
    parser.add_argument("session", metavar="SESSION", nargs="?", help="only this session")
    parser.add_argument("--json", action="store_true", help="print one call a line as JSON")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="at most so many, the oldest first")
    parser.add_argument("--after", metavar="CURSOR", help="go on after the call with this cursor (see --json)")
    add_store_argument(parser)


def run_pending(arguments: Namespace) -> int:
    """List the calls that wait for an answer. Exit code 1 when none does. Raises Problem for an unknown session."""
    return anyio.run(_pending, arguments)


async def _pending(arguments: Namespace) -> int:
    store = store_of(arguments)
    found = await Inbox(store).pending(arguments.session, after=arguments.after, limit=arguments.limit)
    for approval in found:
        if arguments.json:
            print(to_text(approval_to_json(approval)))
        else:
            print(*await _short_lines(approval, store), sep="\n")
    if not found and arguments.session is not None:
        await check_known(arguments.session, store, store_words(arguments))
    if not found and not arguments.json:
        print("Nothing waits for an answer.")
    return Exit.OK if found else Exit.NO


def add_show_arguments(parser: ArgumentParser) -> None:
    """The options of `show`."""
    _add_call_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the call as JSON")
    add_store_argument(parser)


def run_show(arguments: Namespace) -> int:
    """Show one parked call whole, with what was considered and how to answer it. Raises Problem."""
    return anyio.run(_show, arguments)


async def _show(arguments: Namespace) -> int:
    store = store_of(arguments)
    inbox = Inbox(store)
    try:
        approval = await inbox.show(arguments.session, arguments.tool_use_id, arguments.agent_path)
    except DeferralError as error:
        raise await _pointed(error, arguments, inbox) from None
    if arguments.json:
        print(to_text(approval_to_json(approval)))
    else:
        print(
            *_whole_lines(approval),
            *await _short_lines(approval, store),
            *_how_lines(approval, store_words(arguments)),
            sep="\n",
        )
    return Exit.OK


def add_answer_arguments(parser: ArgumentParser) -> None:
    """The options of `answer`."""
    _add_call_arguments(parser)
    parser.add_argument("decision", choices=("allow", "deny"), nargs="?", help="leave it out with --result")
    parser.add_argument("--result", metavar="JSON", help="what the model reads instead of running the tool")
    parser.add_argument("--input", metavar="JSON", help="run it with this input instead")
    parser.add_argument(
        "--answer", action="append", default=[], metavar="QUESTION=LABEL", help="answer a question; may be repeated"
    )
    parser.add_argument("--message", metavar="TEXT", help="what the model reads: with deny why, with allow a note")
    parser.add_argument("--remember", choices=("session", "local", "project", "user"), help="remember an allow")
    parser.add_argument("--by", metavar="NAME", help="who answers, for the trace")
    parser.add_argument("--digest", metavar="DIGEST", help="answer only if the call still has this digest (see show)")
    add_store_argument(parser)


def run_answer(arguments: Namespace) -> int:
    """Store an answer. Exit code 0 when it is the first valid one, 1 when it came second or too late.

    Raises Problem, also for what does not fit.
    """
    return anyio.run(_answer, arguments)


async def _answer(arguments: Namespace) -> int:
    inbox = Inbox(store_of(arguments))
    try:
        accepted = await _is_taken(arguments, inbox)
    except DeferralError as error:
        raise await _pointed(error, arguments, inbox) from None
    if not accepted:
        print("Not taken: it was answered before, has expired, or its session went on.")
        return Exit.NO
    resume = f"agent-sdk resume {arguments.session}{store_words(arguments)}"
    print(f"Stored. It counts when the session is resumed: {visible(resume, keep_newlines=False)}")
    return Exit.OK


async def _is_taken(arguments: Namespace, inbox: Inbox) -> bool:
    result: Json = None
    decision: Allow | Deny | None = None
    if arguments.result is not None:
        if arguments.decision == "deny":
            raise Problem("a result is no denial", where="--result", to_do="leave out deny or --result")
        result = _json(arguments.result, "--result")
    elif arguments.decision is None:
        raise Problem("there is no answer", where="agent-sdk answer", to_do="say allow or deny, or give --result")
    else:
        decision = await _decision(arguments, inbox)
    return await inbox.answer(
        arguments.session,
        arguments.tool_use_id,
        decision,
        result=result,
        by=arguments.by,
        digest=arguments.digest,
        agent_path=arguments.agent_path,
    )


async def _pointed(error: DeferralError, arguments: Namespace, inbox: Inbox) -> Problem:
    """What went wrong with a call, with the command that shows it and what its answer may hold."""
    store, call = store_words(arguments), f"{arguments.session} {arguments.tool_use_id}"
    where = f"call {arguments.tool_use_id} of session {arguments.session}"
    try:
        approval = await inbox.show(arguments.session, arguments.tool_use_id, arguments.agent_path)
    except DeferralError:
        return Problem(str(error), where=where, to_do=f"see what waits: agent-sdk pending{store}; {ELSEWHERE}")
    expected = _expected(approval) if arguments.input or arguments.answer else ""
    return Problem(str(error), where=where, to_do=f"{expected}see it: agent-sdk show {call}{store}")


def _expected(approval: PendingApproval) -> str:
    """The questions of a card, the fields of any other input."""
    if approval.questions:
        asked = ", ".join(repr(question.get("question")) for question in approval.questions)
        return f"the questions are {asked}; "
    match approval.input_schema:
        case {"properties": dict(fields), **rest} if fields:
            needed = rest.get("required")
            told = (f"{name} (needed)" if isinstance(needed, list) and name in needed else name for name in fields)
            return f"the input has {', '.join(told)}; "
        case _:
            return ""


async def _decision(arguments: Namespace, inbox: Inbox) -> Allow | Deny:
    message: str | None = arguments.message
    if arguments.decision == "deny":
        if arguments.input or arguments.answer or arguments.remember:
            raise Problem("a denial takes only a message", where="agent-sdk answer", to_do="leave the rest out")
        return Deny(message or "")
    changed: JsonObject | None = None
    if arguments.input is not None:
        value = _json(arguments.input, "--input")
        if not isinstance(value, dict):
            raise Problem("the input of a tool is a JSON object", where="--input", to_do="put it in braces")
        changed = value
    if arguments.answer:
        approval = await inbox.show(arguments.session, arguments.tool_use_id, arguments.agent_path)
        changed = {**(changed or {}), "answers": _answers(arguments.answer, approval)}
    if changed is None:
        await _refuse_bare_yes(arguments, inbox)
    return Allow(changed, note=message, remember=arguments.remember)


async def _refuse_bare_yes(arguments: Namespace, inbox: Inbox) -> None:
    """A question card is answered by answers. Raises Problem for a yes without any; what is not parked is not ours."""
    try:
        approval = await inbox.show(arguments.session, arguments.tool_use_id, arguments.agent_path)
    except DeferralError:
        return
    if _is_open_card(approval):
        raise Problem(
            "these are questions, and allow alone answers none of them",
            where="agent-sdk answer",
            to_do=f"add{_answer_words(approval)} or other answers; to answer nothing, say deny instead of allow",
        )


def _answers(given: Sequence[str], approval: PendingApproval) -> dict[str, Json]:
    """`QUESTION=LABEL` by question; a question that is answered more than once gets a list."""
    known = [str(question.get("question", "")) for question in approval.questions]
    answers: dict[str, list[Json]] = {}
    for item in given:
        fitting = [question for question in known if item.startswith(f"{question}=")]
        question, equals, label = (max(fitting, key=len), "=", "") if fitting else item.partition("=")
        if not equals:
            raise Problem(f"{item!r} has no =", where="--answer", to_do="write QUESTION=LABEL")
        answers.setdefault(question, []).append(item[len(question) + 1 :] if fitting else label)
    return {question: labels if len(labels) > 1 else labels[0] for question, labels in answers.items()}


def _add_call_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="id of the session")
    parser.add_argument("tool_use_id", metavar="TOOL_USE_ID", help="id of the call")
    parser.add_argument("--agent-path", default="", metavar="PATH", help="which agent asked, its steps joined by /")


def _json(text: str, where: str) -> Json:
    try:
        value: Json = json.loads(text, parse_constant=_no_constant)
        return value
    except (ValueError, RecursionError) as error:
        raise Problem(f"this is not JSON: {error}", where=where, to_do="quote it for the shell") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


async def _short_lines(approval: PendingApproval, store: DeferralStore) -> list[str]:
    now = await store.now()
    place = f"{approval.session_id} {approval.tool_use_id}"
    if approval.agent_path:
        place += f" --agent-path {'/'.join(approval.agent_path)}"
    facts = [f"parked {span_words(now - approval.created_at)} ago"]
    if approval.expires_at is not None:
        left = approval.expires_at - now
        facts.append("expired" if left.total_seconds() <= 0 else f"expires in {span_words(left)}")
    if approval.unknown:
        facts.append("was started before, its outcome is unknown")
    if approval.answer is not None:
        facts.append(f"answered by {approval.answer.by or 'somebody'}")
    if approval.reason:
        facts.append(approval.reason)
    words = [place, f"  {call_line(approval.tool_name, approval.tool_input)}", f"  {'; '.join(facts)}"]
    return [visible(line, keep_newlines=False) for line in words]


def _whole_lines(approval: PendingApproval) -> Iterator[str]:
    card = render_call(approval.tool_name, approval.tool_input, cwd=approval.cwd)
    yield card.title
    yield from card_lines(card)
    for part in card.body:
        if isinstance(part, Questions):
            for number, question in enumerate(part.questions, 1):
                yield from question_lines(question, number, len(part.questions))[:-1]
    yield f"  In: {visible(approval.cwd, keep_newlines=False)}"
    if approval.tool_input != approval.original_input:
        yield f"  The model wrote: {visible(to_text(approval.original_input), keep_newlines=False)}"
    yield f"  Digest: {approval.digest}"
    yield f"  Parked: {moment_words(approval.created_at)}"
    if approval.trace:
        yield "  What was considered:"
    for line in trace_lines(trace_from_json(approval.trace)):
        yield f"    {visible(line, keep_newlines=False)}"


def _how_lines(approval: PendingApproval, store: str) -> list[str]:
    """The commands that answer, as they can be typed."""
    if approval.answer is not None:
        return []
    call = f"agent-sdk answer {approval.session_id} {approval.tool_use_id}"
    words = (f"{call} allow{_answer_words(approval)}{store}", f"{call} deny{store}")
    return ["To answer:", *(f"  {visible(line, keep_newlines=False)}" for line in words)]


def _answer_words(approval: PendingApproval) -> str:
    """The options that answer every question of a card with its first option, with a blank before them."""
    if not _is_open_card(approval):
        return ""
    answers = {str(question.get("question", "")): _first_label(question) for question in approval.questions}
    words = "".join(f" --answer {shlex.quote(f'{question}={label}')}" for question, label in answers.items())
    if visible(words, keep_newlines=False) == words:
        return words
    return f" --input {shlex.quote(to_text({'answers': answers}))}"  # JSON holds what cannot be shown as it is


def _first_label(question: JsonObject) -> str:
    match question.get("options"):
        case [{"label": str(label)}, *_]:
            return label
        case _:
            return "your words"


def _is_open_card(approval: PendingApproval) -> bool:
    """Whether this is a question card that nobody has filled in."""
    is_card = approval.tool_name == QUESTION_TOOL and bool(approval.questions)
    return is_card and approval.answer is None and not approval.tool_input.get("answers")


PENDING = Command(
    name="pending",
    summary="calls that wait for an answer",
    add_arguments=add_pending_arguments,
    run=run_pending,
)
SHOW = Command(name="show", summary="one parked call, whole", add_arguments=add_show_arguments, run=run_show)
ANSWER = Command(
    name="answer",
    summary="answer a parked call, from any process",
    add_arguments=add_answer_arguments,
    run=run_answer,
)
