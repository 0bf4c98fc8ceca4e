"""How tables of words are written."""


def each_of(text: str) -> tuple[str, ...]:
    """Return what stands between the strokes of a text."""
    return tuple(" ".join(each.split()) for each in text.split("|"))


def table(**texts: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each text by its name, in which `_` stands for `-`."""
    return {name.replace("_", "-"): tuple(text.split()) for name, text in texts.items()}
