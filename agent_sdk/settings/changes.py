"""An update as a change of a settings document. Pure: the text of a file in, the text of the next one out.

Only what the update names is touched; every other key keeps its value and its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from agent_sdk.errors import OptionsError, SettingsError
from agent_sdk.rules.rule import RuleBehavior, star_moved_inside
from agent_sdk.updates import PermissionRule, PermissionUpdate
from agent_sdk.values import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an update does to a document: rules (as `allow: Bash(ls)`), folders and mode that came, were there, went."""

    added: tuple[str, ...] = ()
    already: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def changed(document: JsonObject, update: PermissionUpdate, path: str) -> tuple[dict[str, Json], Change]:
    """The document after `update`, and what that changed.

    Raises SettingsError when the document holds something of the wrong type where the update belongs: nobody knows what
    its author meant, so it is left as it is.
    """
    permissions = _mapping(document.get("permissions", {}), path)
    if update.type == "setMode":
        key, before = "defaultMode", permissions.get("defaultMode")
        after: Json = update.mode
        same = before == after
        named = f"defaultMode: {update.mode}"
        change = Change(added=() if same else (named,), already=(named,) if same else ())
    else:
        key = update.behavior or "additionalDirectories"
        items = _items(permissions.get(key, []), key, path)
        after, change = _changed_list(items, update, key)
    if not change.added and not change.removed:
        return dict(document), change
    return {**document, "permissions": {**permissions, key: after}}, change


def _mapping(value: Json, path: str) -> JsonObject:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{path}: permissions is no JSON object; the file is left as it is: repair it", path=path)
    return value


def _items(value: Json, key: str, path: str) -> list[Json]:
    if isinstance(value, str) and key in ("deny", "ask"):
        return [value]
    if not isinstance(value, list | tuple):
        raise SettingsError(f"{path}: permissions.{key} is no list; the file is left as it is: repair it", path=path)
    return list(value)


def _changed_list(items: list[Json], update: PermissionUpdate, key: str) -> tuple[list[Json], Change]:
    wanted: tuple[PermissionRule | str, ...] = update.rules or update.directories
    there = [read_item(item, update.behavior) for item in items]
    added = list(dict.fromkeys(item for item in wanted if item not in there))
    already = _named(key, dict.fromkeys(item for item in wanted if item in there))
    if update.type.startswith("add"):
        return items + [str(item) for item in added], Change(added=_named(key, added), already=already)
    if update.type.startswith("remove"):
        kept = [item for item, read in zip(items, there, strict=True) if read not in wanted]
        gone = [item for item, read in zip(items, there, strict=True) if read in wanted]
        return kept, Change(removed=_named(key, gone))
    gone = [item for item, read in zip(items, there, strict=True) if read not in wanted]
    new: list[Json] = [str(item) for item in dict.fromkeys(wanted)]
    return new, Change(added=_named(key, added), already=already, removed=_named(key, gone))


def read_item(item: Json, behavior: RuleBehavior | None) -> PermissionRule | str | None:
    """An item of the list of a behaviour, or of that of folders (`None`), as updates name it.

    `None` for what is no rule or folder. `Tool(x)*` in deny and ask is the rule that it is read as.
    """
    if not isinstance(item, str):
        return None
    if behavior is None:
        return item
    repaired = star_moved_inside(item) if behavior != "allow" else None
    try:
        return PermissionRule.from_text(repaired or item)
    except OptionsError:
        return None


def _named(key: str, items: Iterable[PermissionRule | Json]) -> tuple[str, ...]:
    return tuple(f"{key}: {item}" for item in items)
