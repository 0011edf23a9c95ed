"""`agent-sdk pending`, `show`, `answer`, `resume`, `sessions`, `export`, `import` and `prune`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from agent_sdk import AgentOptions, SQLiteStore, query
from agent_sdk.cli.main import main
from agent_sdk.cli.stores import read_span, span_words
from agent_sdk.testing import ScriptedModel
from tests.parking.worker import later

BASH = {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "echo one > out.txt"}}
CARD = {
    "type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": {"questions": [
        {"question": "Which = one?", "header": "One", "multiSelect": False, "options": [
            {"label": "A", "description": "a"}, {"label": "B", "description": "b"}]},
        {"question": "Which ones?", "header": "Ones", "multiSelect": True, "options": [
            {"label": "C", "description": "c"}, {"label": "D", "description": "d"}]},
    ]},
}  # fmt: skip
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command on a store of its own, in a folder of its own; gives exit code and output."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, typed: str = "", to: str = "s.sqlite") -> tuple[int, str]:
        reading, writing = os.pipe()
        os.write(writing, typed.encode())
        os.close(writing)
        with os.fdopen(reading) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            code = main([*words, "--store", str(tmp_path / to)])
        told = capsys.readouterr()
        return code, told.out + told.err

    return run


def parked(run: Run, *calls: Any, typed: str = "9\n", alone: bool = True) -> str:
    """Park calls; the session's id. `alone`: it is the only one."""
    Path("script.json").write_text(json.dumps({"turns": [{"content": list(calls or [BASH])}]}))
    code, shown = run("run", "go", "--script", "script.json", typed=typed)
    assert code == 0, shown
    _, listed = run("sessions", "--json")
    session, *others = [json.loads(line) for line in listed.splitlines()]
    assert not (alone and others)
    return str(session["session_id"])


def resumed(run: Run, session: str, *words: str) -> tuple[int, str]:
    """Resume without a person."""
    return run("resume", session, "--ask-nobody", "--script", "script.json", *words)


def test_a_call_is_parked_listed_shown_answered_and_run(run: Run) -> None:
    """Each step by a command of its own, from another folder too."""
    session = parked(run)
    code, shown = run("pending")
    assert code == 0
    assert f"{session} b" in shown
    assert "Bash: echo one > out.txt" in shown
    code, shown = run("show", session, "b")
    assert code == 0
    assert "$ echo one > out.txt" in shown
    assert f"agent-sdk answer {session} b allow" in shown
    assert resumed(run, session)[1].count("waits for an answer") == 1
    assert run("answer", session, "b", "allow", "--by", "Ada", "--message", "take care")[0] == 0
    assert "answered by Ada" in run("show", session, "b")[1]
    code, shown = run("answer", session, "b", "deny")
    assert (code, shown.startswith("Not taken")) == (1, True)
    assert run("pending") == (1, "Nothing waits for an answer.\n")
    Path("elsewhere").mkdir()
    os.chdir("elsewhere")
    code, shown = run("resume", session, "--ask-nobody", "--script", "../script.json")
    assert (code, Path("../out.txt").read_text()) == (0, "one\n")
    assert "take care" in shown
    code, shown = run("resume", session, "--script", "../script.json")
    assert code == 3
    assert "nothing to resume" in shown


def commands_in(shown: str) -> list[list[str]]:
    """The words of each command that an output tells to type, without the program's name."""
    return [shlex.split(line.partition("agent-sdk ")[2]) for line in shown.splitlines() if "agent-sdk " in line]


def test_commands_that_are_shown_work_as_they_stand(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """From the parked call to its result by what the commands tell to type; the store was named once, by a person."""
    Path("script.json").write_text(json.dumps({"turns": [{"content": [BASH]}]}))
    [show] = commands_in(run("run", "go", "--script", "script.json", typed="9\n", to="my store.sqlite")[1])
    assert main(show) == 0
    allow, deny = commands_in(capsys.readouterr().out)
    assert "deny" in deny
    assert main(allow) == 0
    [resume] = commands_in(capsys.readouterr().out)
    assert main([*resume, "--ask-nobody", "--script", "script.json"]) == 0
    assert Path("out.txt").read_text() == "one\n"


ANSWERS: list[tuple[list[str], str]] = [
    (["deny", "--message", "Not now."], "✗ Not now."),
    (["allow", "--input", '{"command": "echo two"}'], "✓ two"),
    (["--result", '"done by hand"'], "✓ done by hand"),
    (["--result", '{"id": 7}'], '✓ {"id":7}'),
]


@pytest.mark.parametrize(("words", "seen"), ANSWERS, ids=[seen for _, seen in ANSWERS])
def test_what_can_be_answered(words: list[str], seen: str, run: Run) -> None:
    """A denial with words, another input, a result from outside."""
    session = parked(run)
    assert run("answer", session, "b", *words)[0] == 0
    code, shown = resumed(run, session)
    assert code == 0
    assert seen in shown
    assert not Path("out.txt").exists()


def park_a_card(card: Any = CARD) -> None:
    """A question card waits, in the session `s`."""
    Path("script.json").write_text(json.dumps({"turns": [{"content": [card]}]}))

    async def park() -> None:
        store = SQLiteStore("s.sqlite")
        options = AgentOptions(
            model=ScriptedModel.from_file("script.json"), can_use_tool=later, session_store=store, session_id="s"
        )
        async for _ in query("go", options=options):
            pass
        store.close()

    anyio.run(park)


def test_questions_are_answered_by_their_text(run: Run) -> None:
    """Also when the question holds `=`; several labels of one question are a list."""
    park_a_card()
    _, shown = run("show", "s", "q")
    assert "(1/2) Which = one?" in shown
    code, shown = run("answer", "s", "q", "allow", "--answer", "One=A")
    assert code == 2
    assert "header 'One'" in shown
    answers = [word for given in ("Which = one?=B", "Which ones?=C", "Which ones?=D") for word in ("--answer", given)]
    assert run("answer", "s", "q", "allow", *answers)[0] == 0
    assert '"Which = one?"="B", "Which ones?"="C, D"' in resumed(run, "s")[1]


@pytest.mark.parametrize("question", ["Which = 'one'?", "Which\n\x1b one?"], ids=["quotes", "control characters"])
def test_a_card_shows_how_it_is_answered(question: str, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """With its own questions and an option of each, as it can be typed."""
    first, second = CARD["input"]["questions"]
    park_a_card({**CARD, "input": {"questions": [{**first, "question": question}, second]}})
    allow, deny = commands_in(run("show", "s", "q")[1])
    assert deny[-3:] == ["deny", "--store", str(Path("s.sqlite").absolute())]
    assert main(allow) == 0
    assert '"Which ones?"="C"' in resumed(run, "s")[1].replace("\\n", "")


def test_a_bare_yes_does_not_throw_questions_away(run: Run) -> None:
    """It is refused with words that answer; deny answers nothing, on purpose."""
    park_a_card()
    for words in ([], ["--message", "as you like"]):
        code, shown = run("answer", "s", "q", "allow", *words)
        assert (code, len(shown.splitlines())) == (2, 3)
        assert "--answer 'Which = one?=A' --answer 'Which ones?=C'" in shown
        assert "say deny" in shown
    assert "answered" not in run("show", "s", "q")[1]
    assert run("answer", "s", "q", "deny")[0] == 0
    assert run("answer", "s", "q", "allow") == (
        1,
        "Not taken: it was answered before, has expired, or its session went on.\n",
    )


MISTAKES: list[tuple[list[str], str]] = [
    (["allow", "--input", "{"], "not JSON"),
    (["allow", "--input", "[1]"], "JSON object"),
    (["allow", "--input", '{"command": 7}'], "does not fit Bash"),
    (["deny", "--input", "{}"], "takes only a message"),
    (["deny", "--result", "1"], "no denial"),
    (["allow", "--answer", "nothing"], "has no ="),
    (["allow", "--digest", "sha256:0"], "another input"),
    (["allow", "--agent-path", "x/y"], "never pending"),
    ([], "allow or deny"),
]


@pytest.mark.parametrize(("words", "named"), MISTAKES, ids=[named for _, named in MISTAKES])
def test_a_mistake_stores_nothing(words: list[str], named: str, run: Run) -> None:
    """It is told in three lines, exit code 2, and the call waits on."""
    session = parked(run)
    code, shown = run("answer", session, "b", *words)
    assert (code, len(shown.splitlines())) == (2, 3)
    assert named in shown
    assert run("pending")[0] == 0


def test_pages_of_pending_calls(run: Run) -> None:
    """`--limit` and `--after` walk through them; `--json` is one object a line."""
    second = {**BASH, "id": "c"}
    session = parked(run, BASH, second, typed="9\n9\n")
    _, first = run("pending", "--json", "--limit", "1")
    page = json.loads(first)
    assert (page["session_id"], page["tool_use_id"], page["tool_input"]) == (session, "b", BASH["input"])
    _, rest = run("pending", session, "--json", "--after", page["cursor"])
    assert [json.loads(line)["tool_use_id"] for line in rest.splitlines()] == ["c"]
    assert json.loads(run("show", session, "c", "--json")[1])["tool_use_id"] == "c"
    run("answer", session, "b", "deny")
    run("answer", session, "c", "deny")
    assert run("pending", session) == (1, "Nothing waits for an answer.\n")


def test_faults_point_to_what_can_be_answered(run: Run) -> None:
    """The questions or the fields, and the command that shows them; what is unknown may be in another store."""
    park_a_card()
    store = str(Path("s.sqlite").absolute())
    code, shown = run("answer", "s", "q", "allow", "--answer", "Which color?=Red")
    assert (code, shown.splitlines()[2]) == (
        2, f"to do: the questions are 'Which = one?', 'Which ones?'; see it: agent-sdk show s q --store {store}",
    )  # fmt: skip
    session = parked(run, typed="9\n", alone=False)
    shown = run("answer", session, "b", "allow", "--input", '{"cmd": "ls"}')[1]
    assert "to do: the input has command (needed), " in shown
    assert f"see it: agent-sdk show {session} b --store {store}" in shown
    for words in (["show", session, "x"], ["answer", "x", "b", "allow"], ["pending", "x"], ["pending", "x", "--json"]):
        code, shown = run(*words)
        assert (code, len(shown.splitlines())) == (2, 3)
        assert shown.endswith("; perhaps it is in another --store\n")
    assert "no session 'x'" in shown


def test_a_session_moves_to_another_store(run: Run) -> None:
    """Exported, imported, resumed there; a warning says that it is pending in both."""
    session = parked(run)
    assert run("answer", session, "b", "allow")[0] == 0
    assert run("export", session, "out.jsonl")[0] == 0
    assert Path("out.jsonl").stat().st_mode & 0o777 == 0o600
    code, shown = run("import", "out.jsonl", to="other.sqlite")
    assert (code, session in shown, "pending where it came from too" in shown) == (0, True, True)
    assert run("import", "out.jsonl", to="other.sqlite")[0] == 3
    code, _ = run("resume", session, "--ask-nobody", "--script", "script.json", to="other.sqlite")
    assert (code, Path("out.txt").read_text()) == (0, "one\n")


def test_old_sessions_are_removed_but_not_those_that_wait(run: Run) -> None:
    """`prune` says how many went."""
    session = parked(run)
    assert run("run", "hello", "--script", "script.json", "--mode", "dontAsk")[0] == 0
    assert "Removed 1 sessions" in run("prune", "0s")[1]
    code, shown = run("sessions")
    assert (code, f"{session}  " in shown, "(1 waiting for an answer)" in shown) == (0, True, True)


def test_a_prompt_goes_on_with_a_session(run: Run) -> None:
    """`run --resume ID PROMPT` and `run --continue PROMPT`: what waited is superseded."""
    session = parked(run)
    code, shown = run("run", "never mind", "--resume", session, "--script", "script.json")
    assert code == 0
    assert "superseded" in shown
    code, _ = run("run", "and now?", "--continue", "--script", "script.json", "--json")
    assert code == 0
    assert len(run("sessions", "--json")[1].splitlines()) == 1


def test_the_directory_of_a_session_may_be_gone(run: Run) -> None:
    """Then it is named, unless another one is given."""
    Path("work").mkdir()
    Path("script.json").write_text(json.dumps({"turns": [{"content": [BASH]}]}))
    assert run("run", "go", "--script", "script.json", "--cwd", "work", typed="9\n")[0] == 0
    session = json.loads(run("sessions", "--json")[1])["session_id"]
    Path("work").rmdir()
    code, shown = resumed(run, session)
    assert code == 2
    assert "work" in shown
    code, shown = resumed(run, session, "--cwd", ".")
    assert code == 1
    assert "tool_deferred_unavailable" in shown


SPANS = [("30d", 30 * 86_400), ("12h", 12 * 3_600), ("90min", 5_400), ("45s", 45), ("365000d", 365_000 * 86_400)]


@pytest.mark.parametrize(("text", "seconds"), SPANS)
def test_spans_of_time(text: str, seconds: int) -> None:
    """They are read and written in one unit."""
    assert read_span(text) == timedelta(seconds=seconds)
    assert span_words(timedelta(seconds=seconds)) in (text.replace("d", " d"), text.replace("h", " h"), "1 h", "45 s")
