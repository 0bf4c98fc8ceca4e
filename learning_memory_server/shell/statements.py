"""Statements of a shell script: their order, and which ones run only if the earlier ones have succeeded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

_STATEMENTS: Final = frozenset(
    "command redirected_statement list pipeline subshell compound_statement if_statement while_statement for_statement "
    "c_style_for_statement case_statement negated_command declaration_command variable_assignment "
    "variable_assignments function_definition test_command unset_command else_clause elif_clause case_item".split()
)
_SUBSHELLS: Final = frozenset("subshell command_substitution process_substitution".split())
_ENDS: Final = frozenset("exit return false".split())


@dataclass(frozen=True, slots=True)
class Leave:
    """Marks the end of a chain or, with a folder, the end of a subshell, to which the shell then returns."""

    folder: str | None = None
    via: str | None = None  # at the end of a text: how the commands after it run


def inside(node: "Node", folder: str) -> "list[Node | Leave]":
    """Return the child nodes of a node, with marks at the ends of chains; `folder` is the shell's current folder."""
    if node.type == "command":
        return [part for each in node.named_children for part in _parts_of(each)]
    found: list[Node | Leave] = []
    was_statement = has_or = False
    for child in node.children:
        if not child.is_named:
            has_or = has_or or child.type == "||"
            was_statement = was_statement and child.type != "then"
        elif child.type != "comment":
            is_statement = child.type in _STATEMENTS
            if was_statement and is_statement and _is_apart(node, child, has_or=has_or, last=found[-1]):
                found.append(Leave())
            was_statement, has_or = is_statement, False
            found.append(child)
    return [*found, Leave(folder)] if node.type in _SUBSHELLS else found


def _is_apart(node: "Node", child: "Node", *, has_or: bool, last: "Node | Leave") -> bool:
    """Whether a statement runs regardless of the last one's success."""
    if node.type == "list":
        return has_or and not _ends(child)
    return node.type != "pipeline" and not _is_guard(last)


def _parts_of(node: "Node") -> "Iterator[Node]":
    """Yield an argument, or the value of an assignment before a command, which applies to that command only."""
    if node.type == "variable_assignment":
        value = node.child_by_field_name("value")
        yield from [value] if value else []
    else:
        yield node


def _ends(node: "Node") -> bool:
    first = (node.text or b"").decode("utf-8", "replace").split(None, 1)[:1]
    return bool(first) and first[0] in _ENDS


def _is_guard(last: "Node | Leave") -> bool:
    """Whether a statement is a guard such as `test || exit`: the rest runs only if the test succeeded."""
    if isinstance(last, Leave) or last.type != "list":
        return False
    return any(each.type == "||" for each in last.children) and _ends(last.named_children[-1])
