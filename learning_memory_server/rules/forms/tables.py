"""Helpers to write tables of words."""


def each_of(text: str) -> tuple[str, ...]:
    """Return the items of a text that are separated by `|`."""
    return tuple(" ".join(each.split()) for each in text.split("|"))


def table(**texts: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each keyword's text; `_` in a keyword stands for `-`."""
    return {name.replace("_", "-"): tuple(text.split()) for name, text in texts.items()}
