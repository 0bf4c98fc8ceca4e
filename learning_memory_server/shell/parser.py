"""Syntax trees of shell scripts. The parser is loaded at the first use, since most processes need none."""

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

READ_MAX: Final = 8_000
"""Maximum characters to parse: of a longer text, the beginning and the end are kept. See `shortening`."""
_HEREDOC: Final = re.compile(r"<<-?[ \t]{0,9}(['\"\\]?)([A-Za-z_]\w{0,63})")


def tree_of(text: str) -> "Tree":
    """Return the syntax tree of a text from `masking`. Its nodes are valid only while the tree exists."""
    # Shell scripts have no null characters, which would slow the parser down
    text = text.replace("\0", " ")
    tree = _parser().parse(text.encode("utf-8", "replace"))
    if tree.root_node.has_error and (ended := _ended(text)) != text:
        # A shell ends a heredoc at the end of the text. Without this, its data would be parsed as commands
        tree = _parser().parse(ended.encode("utf-8", "replace"))
    return tree


@cache
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _ended(text: str) -> str:
    """Return a text with the missing end markers of heredocs added."""
    lines = {each.strip() for each in text.splitlines()}
    return "\n".join([text, *(name for _, name in _HEREDOC.findall(text) if name not in lines)])
