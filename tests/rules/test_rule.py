"""Rules as text: what is a rule, what is none, and who is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_sdk.errors import RuleError
from agent_sdk.rules.rule import RuleBehavior, RuleSource, parse_rule, read_rules

SOURCE = RuleSource("user", "/home/dev/.claude/settings.json", "/home/dev/.claude")


@pytest.mark.parametrize(
    ("text", "tool", "specifier"),
    [
        ("Bash", "Bash", None),
        ("Bash()", "Bash", None),
        ("Bash(*)", "Bash", None),
        ("Bash(npm run test:*)", "Bash", "npm run test:*"),
        ("Bash(echo (a) b)", "Bash", "echo (a) b"),
        ("Bash(a)b)", "Bash", "a)b"),
        ("Bash( )", "Bash", " "),
        ("mcp__my-server__t", "mcp__my-server__t", None),
        ("mcp__s__*", "mcp__s__*", None),
        ("WebFetch(domain:example.com)", "WebFetch", "domain:example.com"),
        ("Edit(/\\[2024-06\\] Reports/**)", "Edit", "/\\[2024-06\\] Reports/**"),
    ],
)
def test_a_rule_has_a_tool_and_a_specifier(text: str, tool: str, specifier: str | None) -> None:
    """The specifier runs from the first bracket to the last one; an empty one or a star is the whole tool."""
    rule = parse_rule(text, "allow", SOURCE, 0)
    assert (rule.tool, rule.specifier, str(rule)) == (tool, specifier, text)


BAD_ALLOW = [
    "",
    " ",
    "Bash:*",
    "Bash(ls",
    "Bash(ls) ",
    "Bash(rm -rf /)*",
    "(ls)",
    "// a comment",
    "*",
    "B*",
    "mcp__*",
    "mcp__*__get_*",
    "mcp__",
    "mcp__s__",
    "mcp__s__t(x)",
    "Grep(./src/**)",
    "MultiEdit(./**)",
    "Edit(!secret)",
    "Edit(../x)",
    "Edit(a/../b)",
    "Edit(a\\..\\b)",
    "Edit(/)",
    "Edit(~/)",
    "Edit(./)",
    "WebFetch(example.com)",
    "WebFetch(domain:)",
    "WebFetch(domain:https://example.com)",
    "WebFetch(domain:example.com:8080)",
    "WebFetch(domain:.)",
    "WebFetch(domain:.example.com)",
    "WebFetch(domain:example..com)",
    "WebFetch(domain:a.org, b.org)",
    "WebFetch(domain:a.org b.org)",
    "mcp__s(x:1)",
    "Bash(command:ls)",
    "Read(file_path:/etc/passwd)",
    "WebSearch(cats)",
]


@pytest.mark.parametrize("text", BAD_ALLOW)
def test_a_bad_allow_rule_grants_nothing_and_is_told(text: str) -> None:
    """The rules beside it stay in force; the warning names file and rule."""
    rules, warnings = read_rules([text, "Bash(ls:*)"], "allow", SOURCE)
    assert [rule.text for rule in rules] == ["Bash(ls:*)"]
    assert len(warnings) == 1
    assert SOURCE.file is not None
    assert SOURCE.file in warnings[0]
    assert repr(text) in warnings[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("bash(ls)", "names no well-known tool; did you mean Bash? Names are case-sensitive"),
        ("Raed(x)", "names no well-known tool; did you mean Read? Names are case-sensitive"),
        ("WebSearch(cats)", "has a specifier that this tool does not take"),
    ],
    ids=["case", "letters", "right name"],
)
def test_a_mistaken_name_is_told_before_its_specifier(text: str, told: str) -> None:
    """Of an allow rule that is ignored for its specifier the author reads what is wrong first: the name."""
    _, [warning] = read_rules([text], "allow", SOURCE)
    assert warning.endswith(f"rule {text!r} {told}")


@pytest.mark.parametrize("behavior", ["deny", "ask"])
@pytest.mark.parametrize(
    "text",
    [
        *("", "Bash:*", "Bash(ls", "// x", "Edit(!a)", "Read(..)", "mcp__", "mcp__s(x:1)", "Bash(command:rm)"),
        *("WebFetch(domain:)", "WebFetch(domain:.a.org)", "WebFetch(domain:a.org, b.org)"),
    ],
)
def test_a_bad_deny_or_ask_rule_is_an_error(text: str, behavior: RuleBehavior) -> None:
    """It names file and position, so that it cannot die silently."""
    with pytest.raises(RuleError) as caught:
        read_rules(["Bash(ls)", text], behavior, SOURCE)
    assert (caught.value.rule, caught.value.file, caught.value.position) == (text, SOURCE.file, 1)
    assert f"{behavior}[1]" in str(caught.value)


def test_a_star_behind_the_bracket_moves_inside() -> None:
    """`Tool(x)*` is tolerated in deny and ask, with a warning."""
    rules, warnings = read_rules(["Bash(rm -rf /)*"], "deny", SOURCE)
    assert [rule.specifier for rule in rules] == ["rm -rf /*"]
    assert len(warnings) == 1


@pytest.mark.parametrize(
    "text",
    ["Write(./src/**)", "Edit(src/{a,b}.ts)", "Edit(src\\**)", "Edit(C:\\x)", "Read( x)", "Agent(a, b)", "Task(a,b)"],
)
def test_rules_that_mean_something_else_than_they_seem_to_warn(text: str) -> None:
    """They are in force all the same."""
    rules, warnings = read_rules([text], "allow", SOURCE)
    assert len(rules) == len(warnings) == 1


def test_where_names_file_behaviour_and_position() -> None:
    """Rules in code are named after their scope."""
    assert parse_rule("Bash", "deny", SOURCE, 3).where == "/home/dev/.claude/settings.json deny[3]"
    assert parse_rule("Bash", "allow", RuleSource("options", None, "/p"), 0).where == "options allow[0]"


@given(st.text(alphabet="abBsh_(*):. /\\\"'é~"), st.sampled_from(["allow", "ask", "deny"]))
def test_printing_what_was_parsed_gives_the_text_back(text: str, behavior: RuleBehavior) -> None:
    """Parse and print are inverse, and parsing raises nothing but RuleError."""
    try:
        rule = parse_rule(f"Bash{text}", behavior, SOURCE, 0)
    except RuleError:
        return
    assert str(rule) == f"Bash{text}"
    assert str(rule) in (f"{rule.tool}({rule.specifier})", rule.tool, f"{rule.tool}()", f"{rule.tool}(*)")
    assert parse_rule(str(rule), behavior, SOURCE, 0) == rule
