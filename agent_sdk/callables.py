"""Is this a function that we may await with so many arguments? Asked once, when options are built."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from agent_sdk.errors import OptionsError


def check_async_callable(value: object, *, what: str, signature: str, arguments: int) -> None:
    """Refuse anything but an async callable that takes `arguments` positional arguments.

    Accepted: `async def`, an object whose `__call__` is one, `functools.partial` of these. `signature` is shown in the
    error as what to write. Raises OptionsError.
    """
    if not callable(value):
        raise OptionsError(f"{what} is not callable: got {value!r}. Write: {signature}", option=what)
    if not _is_async(value):
        raise OptionsError(f"{what} ({name_of(value)}) must be async. Write: {signature}", option=what)
    try:
        inspect.signature(value).bind(*(None for _ in range(arguments)))
    except TypeError as error:
        raise OptionsError(
            f"{what} ({name_of(value)}) must take {arguments} positional arguments ({error}). Write: {signature}",
            option=what,
        ) from None


def name_of(value: object) -> str:
    """How a callable is called in traces and messages."""
    if isinstance(value, functools.partial):
        return name_of(value.func)
    if inspect.isroutine(value):
        return str(value.__qualname__)
    return type(value).__qualname__


def shown_as(value: object) -> str:
    """What an application handed back, for logs and traces, short. Never raises: its `repr` is not ours to trust."""
    try:
        return f"{value!r:.200}"
    except Exception:
        return f"an object of type {type(value).__name__}"


def told_error(error: BaseException) -> str:
    """Type and text of an exception of the application, short. Never raises."""
    return f"{type(error).__name__}: {text_of_error(error):.500}"


def text_of_error(error: BaseException) -> str:
    """What an exception says. Never raises: its `str` is not ours to trust."""
    try:
        return str.__str__(str(error))
    except Exception:
        return "its text cannot be read"


def traceable(error: BaseException) -> BaseException | None:
    """The exception, for a log record with its traceback; `None` when writing it out would raise."""
    try:
        str(error)
    except Exception:
        return None
    return error


def _is_async(value: Callable[..., object]) -> bool:
    while isinstance(value, functools.partial):
        value = value.func
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__)
