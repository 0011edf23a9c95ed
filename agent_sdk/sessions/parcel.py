"""A session as JSON lines: every record of it on a line of its own, as ASCII. Pure.

The first line is `{"record": "session", …}`. Journal and verdicts come before the transcript, approvals after it: a
file that lost its end takes no call that has run for one that has not, and approves none.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_sdk.calls import CallKey, ToolResult
from agent_sdk.errors import SessionError
from agent_sdk.sessions import codec
from agent_sdk.sessions.fields import Fields, json_text
from agent_sdk.sessions.records import Entry, PendingApproval, SettledCall
from agent_sdk.sessions.store import SessionKey
from agent_sdk.values import Json, JsonObject

log = logging.getLogger("agent_sdk.sessions")

FORMAT = 1
"""Goes up when an older version could misread what a newer one writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A row of the journal: what was begun, and its result; without one its outcome is unknown."""

    key: CallKey
    effective: JsonObject
    result: ToolResult | None = None


@dataclass(slots=True, kw_only=True)
class Parcel:
    """All that is known of one session. `transcripts` has the entries by subpath; the session's own is `""`."""

    project_key: str
    session_id: str
    transcripts: dict[str, list[Entry]] = field(default_factory=dict)
    settled: list[SettledCall] = field(default_factory=list)
    pending: list[PendingApproval] = field(default_factory=list)
    journal: list[Started] = field(default_factory=list)

    def key(self, subpath: str = "") -> SessionKey:
        """The key of one of its transcripts."""
        key = SessionKey(project_key=self.project_key, session_id=self.session_id)
        if subpath:
            key["subpath"] = subpath
        return key


def parcel_text(parcel: Parcel) -> str:
    """The lines of a file, each with its end. Raises SessionError for what is not JSON."""
    return "".join(json_text("a line of the export", line) + "\n" for line in _records(parcel))


def _records(parcel: Parcel) -> Iterator[JsonObject]:
    yield {
        "record": "session",
        "format": FORMAT,
        "project_key": parcel.project_key,
        "session_id": parcel.session_id,
    }
    for row in parcel.journal:
        result = None if row.result is None else codec.result_to_json(row.result)
        yield {"record": "journal", "key": codec.key_to_json(row.key), "effective": row.effective, "result": result}
    for call in parcel.settled:
        yield {"record": "settled", "settled": codec.settled_to_json(call)}
    for subpath, entries in parcel.transcripts.items():
        for entry in entries:
            yield {"record": "entry", "subpath": subpath, "entry": entry}
    for approval in parcel.pending:
        yield {"record": "approval", "approval": codec.pending_to_json(approval)}


def read_parcel(data: bytes, name: str) -> Parcel:
    """Read the bytes of a file called `name`.

    A last line without its end that cannot be read was never whole: it is left out, and a warning names it. Raises
    SessionError, naming the line, for any other line that cannot be read, and for a file of a newer format.
    """
    parcel: Parcel | None = None
    for number, line in _lines(data, name):
        try:
            if parcel is None:
                parcel = _opened(line)
            else:
                _add(parcel, line)
        except SessionError as error:
            raise _unreadable(name, number, str(error)) from None
    if parcel is None:
        raise SessionError(f"{name} holds no session; nothing was imported")
    return parcel


def _lines(data: bytes, name: str) -> Iterator[tuple[int, Json]]:
    *whole, rest = data.split(b"\n")
    for number, line in enumerate(whole, 1):
        if line.strip():
            try:
                yield number, _parsed(line)
            except (ValueError, RecursionError) as error:
                raise _unreadable(name, number, str(error)) from None
    if rest.strip():
        number = len(whole) + 1
        try:
            last = _parsed(rest)
        except (ValueError, RecursionError):
            log.warning("%s: line %d is cut off and left out: %.60r", name, number, rest)
            return
        yield number, last


def _parsed(line: bytes) -> Json:
    value: Json = json.loads(line.decode("utf-8"))
    return value


def _unreadable(name: str, number: int, why: str) -> SessionError:
    return SessionError(f"{name}, line {number} cannot be read: {why}; nothing was imported")


def _opened(line: Json) -> Parcel:
    fields = Fields("session", line)
    if fields.raw.get("record") != "session":
        raise fields.wrong("record", "'session', as the first line of an exported session has it")
    if fields.number("format") > FORMAT:
        raise SessionError(f"format {fields.number('format')} was written by a newer agent_sdk: upgrade it")
    return Parcel(project_key=fields.text("project_key"), session_id=fields.text("session_id"))


def _add(parcel: Parcel, line: Json) -> None:
    fields = Fields("record", line)
    match fields.raw.get("record"):
        case "entry":
            parcel.transcripts.setdefault(fields.text_or("subpath", ""), []).append(fields.object("entry"))
            return
        case "journal":
            result = fields.raw.get("result")
            row = Started(
                key=codec.key_from_json(fields.raw.get("key"), "journal.key"),
                effective=fields.object("effective"),
                result=None if result is None else codec.result_from_json(result, "journal.result"),
            )
            parcel.journal.append(row)
            key = row.key
        case "settled":
            settled = codec.settled_from_json(fields.raw.get("settled"), "settled")
            parcel.settled.append(settled)
            key = settled.key
        case "approval":
            approval = codec.pending_from_json(fields.raw.get("approval"), "approval")
            parcel.pending.append(approval)
            key = approval.key
        case _:
            raise fields.wrong("record", "'entry', 'journal', 'settled' or 'approval'")
    if key.session_id != parcel.session_id:
        raise SessionError(f"it belongs to session {key.session_id}, the file to {parcel.session_id}")
