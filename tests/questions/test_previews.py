"""HTML previews: a plain fragment passes, anything that could run does not reach a person."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk import AskUserQuestionConfig
from agent_sdk.questions.previews import html_problem
from agent_sdk.tools.ask_user_question import ask_user_question_tool

PLAIN = [
    "",
    "<p>Hello</p>",
    "a < b and b > c",
    '<div class=\'x\' style="color: red"><img src="data:image/png;base64,AA=="></div>',
    "<p>The handler onclick= is only named here, and javascript: too</p>",
    "<code>const once = 1</code>",
    "<a href='https://example.com/?on=1'>x</a>",
    "<scripty>no</scripty>",
    "中文 <b>粗体</b>",
]
REFUSED = [
    ("<script>x</script>", "holds <script>"),
    ("<p><SCRIPT src=x>", "holds <script>"),
    ("</script>", "holds <script>"),
    ("<style>*{}</style>", "holds <style>"),
    ("<!DOCTYPE html><p>", "holds <!doctype>"),
    ("<html><p>", "holds <html>"),
    ("<!-- <script> -->", "holds <script>"),
    ("<img src=x onerror=alert(1)>", "the event handler onerror"),
    ("<svg/onload=alert(1)>", "the event handler onload"),
    ("<p ONCLICK='x'>", "the event handler onclick"),
    ('<a title=">" onclick=x>', "the event handler onclick"),
    ("<br onfocus/>", "the event handler onfocus"),
    ("<a href=javascript:alert(1)>", "a javascript: URL"),
    ("<a href=' java\tscript:x'>", "a javascript: URL"),
    ("<a href='&#106;avascript&colon;x'>", "a javascript: URL"),
    ("<a href='&#x6A;ava&Tab;script:x'>", "a javascript: URL"),
    ("<p style='background:url(javascript:x)'>", "a javascript: URL"),
    ("<iframe srcdoc='<p onclick=x>'></iframe>", "the event handler onclick"),
    ("<iframe srcdoc='&lt;script&gt;'></iframe>", "holds <script>"),
    ("<img src=x onerror=alert(1) ", "ends inside a tag"),
    ("<a href='x", "ends inside a tag"),
]


@pytest.mark.parametrize("fragment", PLAIN)
def test_plain_fragments_pass(fragment: str) -> None:
    """What only looks like code in the text is text."""
    assert html_problem(fragment) is None


@pytest.mark.parametrize(("fragment", "words"), REFUSED)
def test_what_could_run_is_refused(fragment: str, words: str) -> None:
    """The problem is named."""
    assert words in str(html_problem(fragment))


def card(preview: str) -> dict[str, Any]:
    options = [{"label": "a", "description": "d"}, {"label": "b", "description": "d", "preview": preview}]
    return {"questions": [{"question": "Q?", "header": "H", "options": options, "multiSelect": False}]}


def test_the_model_is_told_what_to_send_instead() -> None:
    """The place of the preview, its fault, and the way out."""
    check = ask_user_question_tool(AskUserQuestionConfig(preview_format="html")).check
    assert check(card("<p>x</p>")) is None
    assert check(card("<p onclick=x>")) == (
        "questions[0].options[1].preview holds the event handler onclick: "
        "send a plain HTML fragment without scripts, styles and handlers."
    )


@pytest.mark.parametrize("config", [None, AskUserQuestionConfig(preview_format="markdown")])
def test_markdown_is_not_read_as_html(config: AskUserQuestionConfig | None) -> None:
    """In Markdown a script is a piece of code to look at."""
    assert ask_user_question_tool(config).check(card("```html\n<script>\n```")) is None


@given(st.text(alphabet="<>/!?-= '\"oncliksrt&#;a"))
def test_no_text_breaks_the_check(fragment: str) -> None:
    """Whatever the model sends, there is an answer, and it is the same for a fragment behind it."""
    problem = html_problem(fragment)
    assert problem is None or isinstance(problem, str)
