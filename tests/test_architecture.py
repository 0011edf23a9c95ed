"""The house stands as docs/architecture.md draws it: every module is listed, and imports only from above."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "agent_sdk"
HEAVY = {"anthropic", "tree_sitter", "tree_sitter_bash", "filelock", "platformdirs", "prompt_toolkit", "trio"}
# Doors that import inside a function: what they open is heavy, or belongs to one platform.
# The approver opens a room of our own, `terminal.rich`, which is the one that needs a user interface.
DOORS = {
    "agent_sdk.models.anthropic": {"anthropic"},
    "agent_sdk.settings.writing": {"filelock"},
    "agent_sdk.terminal.approver": {"agent_sdk"},
}


def rooms() -> list[str]:
    """The modules in the order of the drawing, as `agent_sdk.x.y`."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    block = re.search(r"```rooms\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return ["agent_sdk." + line.split()[0] for line in block[1].splitlines() if line.startswith("  ")]


def modules() -> dict[str, Path]:
    """Every module of the package except the `__init__` files."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py")
    }


ORDER = {name: place for place, name in enumerate(rooms())}
MODULES = modules()


def imports_of(path: Path) -> Iterator[tuple[str, bool]]:
    """Names of imported modules of ours, and whether the import stands inside a function."""
    tree = ast.parse(path.read_text())
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full if full in MODULES else node.module), id(node) in inside


def test_every_module_is_drawn() -> None:
    """The drawing lists exactly the modules that exist."""
    assert sorted(ORDER) == sorted(MODULES)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_go_upwards_only(name: str) -> None:
    """A module imports only from modules that stand above it in the drawing."""
    for imported, _ in imports_of(MODULES[name]):
        if imported.startswith("agent_sdk.") and imported in ORDER:
            assert ORDER[imported] < ORDER[name], f"{name} imports {imported}, which stands below it"
        elif imported.startswith("agent_sdk"):
            room = imported + "."
            places = [place for other, place in ORDER.items() if other.startswith(room)]
            assert places, f"{name} imports {imported}: not a room"
            assert max(places) < ORDER[name], f"{name} imports {imported}, whose modules stand below it"


@pytest.mark.parametrize("name", sorted(MODULES))
def test_nothing_is_imported_inside_functions(name: str) -> None:
    """Imports stand at the top, except at the doors that are named here."""
    late = {imported.split(".")[0] for imported, inside in imports_of(MODULES[name]) if inside}
    assert late <= DOORS.get(name, set())


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=str)
def test_modules_stay_small(path: Path) -> None:
    """No module has more than 500 lines."""
    assert len(path.read_text().splitlines()) <= 500


def test_importing_the_package_opens_no_heavy_door() -> None:
    """`import agent_sdk` loads neither the API client nor a user interface, nor a parser or a file lock."""
    opened = "import sys; from agent_sdk import *; from agent_sdk.terminal import *"
    code = f"{opened}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert HEAVY.isdisjoint(loaded.split())
