"""What every store decides and refuses in the same way and in the same words. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from agent_sdk.calls import CallKey
from agent_sdk.errors import DeferralError, SessionBusyError, SessionError
from agent_sdk.sessions.records import Claim, PendingApproval, micros

Place: TypeAlias = tuple[int, str, tuple[str, ...], str, str]
"""Where an approval stands in a listing: microseconds since 1970, session, agent path, message uuid, tool_use_id."""


def place_of(pending: PendingApproval) -> Place:
    """The place by which listings are ordered; oldest first."""
    return (
        micros(pending.created_at),
        pending.session_id,
        pending.agent_path,
        pending.message_uuid,
        pending.tool_use_id,
    )


def read_cursor(cursor: str) -> Place:
    """The place that `PendingApproval.cursor` names. Raises SessionError for any other text."""
    try:
        match json.loads(cursor):
            case [int(created), str(session_id), list(path), str(message_uuid), str(tool_use_id)]:
                return created, session_id, tuple(str(step) for step in path), message_uuid, tool_use_id
    except ValueError:
        pass
    raise SessionError(f"after={cursor!r} is not the cursor of a parked call; take PendingApproval.cursor")


def busy(session_id: str, owner: str, until: datetime, now: datetime) -> SessionBusyError:
    """The error for a session that another run holds."""
    left = max(0.0, (until - now).total_seconds())
    return SessionBusyError(
        f"session {session_id} is held by {owner} for another {left:.0f} s; "
        "wait until that run ends, or until its lease is over",
        session_id=session_id,
        owner=owner,
        lease_seconds=left,
    )


def stale(claim: Claim, good: Claim | None, now: datetime) -> SessionBusyError:
    """The error for a claim that is no longer good; `good` is the one that is, if any."""
    taken = "it was released, or the session was deleted" if good is None else f"{good.owner} holds the session now"
    return SessionBusyError(
        f"the claim of {claim.owner} on session {claim.session_id} is lost: {taken}; nothing was written",
        session_id=claim.session_id,
        owner=None if good is None else good.owner,
        lease_seconds=None if good is None else max(0.0, (good.until - now).total_seconds()),
    )


def check_session(claim: Claim, *session_ids: str) -> None:
    """Raises SessionError when a record belongs to another session than the claim."""
    for session_id in session_ids:
        if session_id != claim.session_id:
            raise SessionError(
                f"the claim is for session {claim.session_id}, the record for {session_id}", session_id=claim.session_id
            )


def never_parked(key: CallKey) -> DeferralError:
    """The error for an answer to a call that was never parked."""
    return DeferralError(
        f"session {key.session_id} never parked a call {key.tool_use_id}; see which calls are pending",
        session_id=key.session_id,
        tool_use_id=key.tool_use_id,
    )


def turn_closed(key: CallKey) -> SessionError:
    """The error for a call of a turn whose results are in the transcript already."""
    return SessionError(
        f"call {key.tool_use_id} cannot be begun: its turn is closed, its result is in the transcript",
        session_id=key.session_id,
    )


def not_begun(key: CallKey) -> SessionError:
    """The error for the end of a call that was never begun."""
    return SessionError(f"call {key.tool_use_id} was never begun, so it cannot end", session_id=key.session_id)


def takes_answer(pending: PendingApproval, digest: str | None, now: datetime) -> bool:
    """May this open approval be answered now? False when it has an answer or is expired.

    Raises DeferralError when `digest` is given and is not the approval's.
    """
    if digest is not None and digest != pending.digest:
        raise DeferralError(
            f"the answer to call {pending.tool_use_id} is for another input than the one that is pending: "
            "look at it again, then answer",
            session_id=pending.session_id,
            tool_use_id=pending.tool_use_id,
        )
    return pending.answer is None and not is_expired(pending, now)


def is_expired(pending: PendingApproval, now: datetime) -> bool:
    """Is its time over? At `expires_at` it is."""
    return pending.expires_at is not None and now >= pending.expires_at


def parked_again(stored: PendingApproval | None, new: PendingApproval) -> PendingApproval:
    """What to keep when a call is parked once more: an answer to the very same approval stays with it."""
    if stored is None or stored.answer is None:
        return new
    same = (stored.digest, stored.state, stored.created_at) == (new.digest, new.state, new.created_at)
    return replace(new, answer=stored.answer) if same else new
