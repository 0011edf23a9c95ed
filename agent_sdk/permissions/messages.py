"""What the model reads when a call did not run. Short, readable, without internals."""

from __future__ import annotations

from agent_sdk.calls import ToolResult
from agent_sdk.decisions import Deny, Words
from agent_sdk.hooks.hear import FaultKind
from agent_sdk.values import copied_object

PERSON_DENIED = "The user did not allow this call."
HOOK_DENIED = "A permission hook did not allow this call."
RULE_DENIED = "Denied by a permission rule."
DONT_ASK_DENIED = "Not run: this call needs a person's approval, and this run asks nobody (permission mode dontAsk)."
FILE_CHANGED = "Not run: the file has changed since this was approved."
INTERRUPTED_BEFORE = "Not run: interrupted by the person."
INTERRUPTED_RUNNING = "Interrupted while running; its effect is unknown."
CANCELLED_BEFORE = "Not run: the run was cancelled."
CUT_OFF = "Not run: the reply was cut off."
UNKNOWN_OUTCOME = (
    "The outcome of this call is unknown: it was started, and the run ended before a result came. It was not run again."
)
TOOL_CHANGED = "Not run: the tool of this call, or the folder it was to run in, has changed since it was parked."
EXPIRED = "Not run: the approval for this call has expired."
SUPERSEDED = "Not run: superseded by a new prompt before anybody decided on this call."
FORKED = "No result: this call was superseded by the fork of its session."
CANNOT_PARK = "Not run: this call was to wait for a later decision, but this store cannot park calls."


_WHY_ASKED = {
    "ask_rules": "An ask rule wants a person to decide",
    "hook": "A hook wants a person to decide",
    "interaction": "This tool needs a person",
    "mode": "The permission mode wants a person to decide",
    "safety": "What it touches is protected, so that no allow rule covers it",
}


def nobody_to_ask(tool: str, asked_by: str) -> str:
    """Step 7: nobody was left to decide. `asked_by` is the step that wanted somebody to."""
    why = _WHY_ASKED.get(asked_by, "No allow rule or permission mode covers it")
    return (
        f"Not run: nobody was there to approve this {tool} call. {why}, and there is no can_use_tool callback and no "
        "hook that decides it. The application can add one of these."
    )


def unreadable(reason: str) -> str:
    """The call names something that cannot be read as a path."""
    return f"Not run: {reason}."


def check_failed(fault: FaultKind) -> str:
    """A gate failed; a gate that failed is no yes."""
    return f"The permission check failed: it {fault}. The call was not run."


def bad_rewrite(details: str) -> str:
    """The input was rewritten into one that does not fit the tool."""
    return (
        f"Not run: the permission check changed the input of this call to one that does not fit the tool: "
        f"{details.rstrip('.')}. "
        "The input that you sent was valid; the fault is not yours."
    )


def words_to_result(words: Words, otherwise: str) -> ToolResult:
    """An error result with the given words; `otherwise` when there are none."""
    if isinstance(words, str):
        return ToolResult(words if words.strip() else otherwise, is_error=True)
    return ToolResult([copied_object(block) for block in words], is_error=True)


def denial(deny: Deny, otherwise: str) -> ToolResult:
    """The error result for a Deny."""
    return words_to_result(deny.message, otherwise)
