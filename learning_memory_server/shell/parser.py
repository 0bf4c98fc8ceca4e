"""The syntax trees of shell texts. The parser is loaded with the first one: most processes read none."""

import re
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

READ_MAX: Final = 8_000
"""Characters of a text that are read: of a longer one, its beginning and its end. See `shortening`."""
_HEREDOC: Final = re.compile(r"<<-?[ \t]{0,9}(['\"\\]?)([A-Za-z_]\w{0,63})")


def tree_of(text: str) -> "Tree":
    """Return the tree of a text that `masking` has masked; its nodes live as long as it."""
    # No shell text has a null, at each of which the parser would look for an end
    text = text.replace("\0", " ")
    tree = _parser().parse(text.encode("utf-8", "replace"))
    if tree.root_node.has_error and (ended := _ended(text)) != text:
        # A shell ends a heredoc at the end of the text; so what was data is not read as commands
        tree = _parser().parse(ended.encode("utf-8", "replace"))
    return tree


@cache
def _parser() -> "Parser":
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _ended(text: str) -> str:
    """Return a text with the ends of heredocs that it lacks."""
    lines = {each.strip() for each in text.splitlines()}
    return "\n".join([text, *(name for _, name in _HEREDOC.findall(text) if name not in lines)])
