"""Is an HTML preview a plain fragment? The first of two fences: whoever shows it uses a closed frame as well."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from agent_sdk.questions.schema import Question

_ELEMENTS = re.compile(r"<\s*/?\s*(script|style|html|!doctype)\b", re.IGNORECASE)
_IGNORED_IN_URLS = re.compile(r"[\x00-\x20\x7f-\x9f]")


def html_problem(fragment: str) -> str | None:
    """What makes `fragment` more than a plain fragment of HTML, as the end of the sentence "The preview …".

    That is `<script>`, `<style>`, `<html>`, `<!DOCTYPE>`, an attribute that runs code (`onclick` and its like), a
    `javascript:` URL in any spelling, and a tag that never ends. `None` when there is nothing of these.
    """
    if found := _ELEMENTS.search(fragment):
        return f"holds <{found[1].lower()}>"
    reader = _Attributes()
    reader.feed(fragment)
    if reader.problem is None and re.match(r"<[a-zA-Z/!?]", reader.rawdata):
        return "ends inside a tag"
    reader.close()
    return reader.problem


def preview_problem(questions: tuple[Question, ...]) -> str | None:
    """One sentence for the model about the first HTML preview that is refused; `None` when all may be shown."""
    for number, question in enumerate(questions):
        for place, option in enumerate(question.options):
            if option.preview is not None and (problem := html_problem(option.preview)) is not None:
                where = f"questions[{number}].options[{place}].preview"
                return f"{where} {problem}: send a plain HTML fragment without scripts, styles and handlers."
    return None


class _Attributes(HTMLParser):
    """Reads tags as browsers do and keeps the first attribute that could run something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.problem: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at one tag; called for self-closing ones too."""
        for name, value in attrs:
            self.problem = self.problem or _attribute_problem(name, value or "")


def _attribute_problem(name: str, value: str) -> str | None:
    if name.startswith("on"):
        return f"holds the event handler {name[:40]}"
    if "javascript:" in _IGNORED_IN_URLS.sub("", value).lower():
        return "holds a javascript: URL"
    if name == "srcdoc":
        return html_problem(value)
    return None
