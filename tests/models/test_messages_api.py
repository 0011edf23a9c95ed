"""The local service refuses what the real one refuses, and takes the rest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.messages_api import check_conversation

HELLO = {"role": "user", "content": "x"}
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]
SIGNED = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
TEXT = {"type": "text", "text": "x"}


def use(id_: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "Bash", "input": {}, **more}


def result(id_: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": "ok", **more}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def sent(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "tools": TOOLS, "messages": [HELLO, *messages], **more}


LEGAL = {
    "a prompt": body(),
    "no tools needed": {"model": "m", "max_tokens": 1, "messages": [HELLO]},
    "calls and results": body(said(TEXT, use("a"), use("b")), sent(result("b"), result("a"), TEXT)),
    "two turns": body(said(use("a")), sent(result("a")), said(use("b")), sent(result("b"))),
    "thinking": body(said(SIGNED, use()), sent(result()), thinking={"type": "enabled", "budget_tokens": 1024}),
    "an empty result": body(said(use()), sent(result(content=[]))),
    "an error of text": body(said(use()), sent(result(content=[TEXT], is_error=True))),
    "an image as result": body(said(use()), sent(result(content=[{"type": "image", "source": {}}]))),
    "users in a row": body(HELLO, HELLO),
    "a pause sent back": body(said({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
    "another kind of block": body(said({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}), HELLO),
    "system blocks": body(system=[TEXT]),
}


@pytest.mark.parametrize("conversation", LEGAL.values(), ids=LEGAL)
def test_legal_conversations_pass(conversation: dict[str, Any]) -> None:
    """What the service takes is taken."""
    assert check_conversation(conversation) is None


POINT = {**TEXT, "cache_control": {"type": "ephemeral"}}
ILLEGAL = {
    "no object": ([], "body"),
    "no model": (body(model=""), "model"),
    "no max_tokens": (body(max_tokens=None), "max_tokens"),
    "no messages": ({**body(), "messages": []}, "at least one"),
    "assistant first": ({**body(), "messages": [said(TEXT)]}, "first message"),
    "unknown role": (body({"role": "system", "content": "x"}), "role"),
    "empty message": (body(said()), "non-empty"),
    "empty string": (body({"role": "user", "content": ""}), "non-empty"),
    "empty text": (body(sent({"type": "text", "text": ""})), "non-empty"),
    "blank text": (body(said({"type": "text", "text": " \n"})), "non-whitespace"),
    "empty text in a result": (body(said(use()), sent(result(content=[{"type": "text", "text": ""}]))), "non-empty"),
    "unanswered at the end": (body(said(use())), "without `tool_result`"),
    "unanswered": (body(said(use("a"), use("b")), sent(result("a"))), "without `tool_result`"),
    "answered too late": (body(said(use()), HELLO, sent(result())), "without `tool_result`"),
    "assistant goes on": (body(said(use()), said(TEXT), sent(result())), "without `tool_result`"),
    "orphan": (body(sent(result())), "unexpected `tool_use_id`"),
    "answered twice": (body(said(use()), sent(result(), result())), "single result"),
    "text first": (body(said(use()), sent(TEXT, result())), "before any other"),
    "id used again": (body(said(use()), sent(result()), said(use()), sent(result())), "unique"),
    "id twice in one": (body(said(use(), use()), sent(result())), "unique"),
    "empty id": (body(said(use("")), sent(result(""))), "pattern"),
    "odd id": (body(said(use("a.b")), sent(result("a.b"))), "pattern"),
    "id with line end": (body(said(use("a\n")), sent(result("a\n"))), "pattern"),
    "no input object": (body(said(use(input="x")), sent(result())), "dictionary"),
    "no tools": (body(said(use()), sent(result()), tools=[]), "must define tools"),
    "tools without schema": (body(tools=[{"name": "Bash"}]), "input_schema"),
    "tools of one name": (body(tools=TOOLS * 2), "unique"),
    "empty error": (body(said(use()), sent(result(content="", is_error=True))), "cannot be empty"),
    "image in an error": (
        body(said(use()), sent(result(content=[TEXT, {"type": "image"}], is_error=True))),
        "must be type `text`",
    ),
    "unsigned thinking": (body(said({"type": "thinking", "thinking": "hm"}, TEXT)), "signature"),
    "empty signature": (body(said({**SIGNED, "signature": ""}, TEXT)), "signature"),
    "thinking at the end": (body(said(TEXT, SIGNED)), "final block"),
    "thinking of the user": (body(sent(SIGNED)), "assistant messages"),
    "thinking left out": (body(said(use()), sent(result()), thinking={"type": "enabled"}), "must start with"),
    "call of the user": (body(sent(use())), "assistant messages"),
    "result of the assistant": (body(said(result())), "user messages"),
    "too many cache points": (body(sent(*[POINT] * 4), system=[POINT]), "cache_control"),
    "empty system": (body(system=[{"type": "text", "text": ""}]), "non-empty"),
}


@pytest.mark.parametrize(("conversation", "words"), ILLEGAL.values(), ids=ILLEGAL)
def test_illegal_conversations_are_refused(conversation: Any, words: str) -> None:
    """The reason names what is wrong."""
    assert words in (check_conversation(conversation) or "")
