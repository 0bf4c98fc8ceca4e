import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.index.chunking.chunking import Kind, Outline, blocks


def parts(text: str) -> list[tuple[str, str]]:
    """Return the blocks of a text as (kind, text without white space around it)."""
    return [(block.kind.value, text[slice(*block.span)].strip()) for block in blocks(text)]


def test_paragraphs_are_separated_by_blank_lines() -> None:
    assert parts("one\nstill one\n\n \ntwo\n") == [("text", "one\nstill one"), ("text", "two")]


def test_a_heading_is_a_block_and_ends_the_paragraph_before_it() -> None:
    assert parts("text\n# A #\nmore") == [("text", "text"), ("heading", "# A #"), ("text", "more")]


@pytest.mark.parametrize("line", ["#no space", "#", "####### seven", "    # code", "# "])
def test_a_line_that_only_resembles_a_heading_is_text(line: str) -> None:
    assert ("heading", line.strip()) not in parts(f"{line}\n")


def test_a_fenced_block_is_one_whatever_is_in_it() -> None:
    code = "```python\n# not a heading\n\nName: not a turn\n~~~\n```"
    assert parts(f"before\n{code}\nafter") == [("text", "before"), ("code", code), ("text", "after")]


def test_a_fence_is_closed_by_one_of_the_same_kind_that_is_at_least_as_long() -> None:
    code = "````\n```\n~~~~\n```` x\n`````"
    assert parts(f"{code}\nafter") == [("code", code), ("text", "after")]


def test_a_fence_that_is_never_closed_extends_to_the_end() -> None:
    assert parts("a\n\n~~~\nb\n\nc") == [("text", "a"), ("code", "~~~\nb\n\nc")]


def test_inline_code_opens_no_fence() -> None:
    assert parts("```x``` is code\n\nand this is text") == [("text", "```x``` is code"), ("text", "and this is text")]


def test_each_turn_of_a_conversation_is_a_block_with_the_lines_that_continue_it() -> None:
    talk = "Ann: Hello\nhow are you?\nDr. O'Neil: Fine.\n[2026-03-01 10:00] \u00c9mile: Me too"
    assert [text for _, text in parts(talk)] == [
        "Ann: Hello\nhow are you?",
        "Dr. O'Neil: Fine.",
        "[2026-03-01 10:00] \u00c9mile: Me too",
    ]


@pytest.mark.parametrize("line", ["http://x.y", "12:30 was the time", "no colon here", "a:b"])
def test_a_line_without_a_name_and_a_colon_is_not_a_turn(line: str) -> None:
    assert parts(f"before\n{line}") == [("text", f"before\n{line}")]


@given(st.lists(st.sampled_from(["# A", "## B", "```", "~~~~", "x: y", "text", "", " ", "\u2028"]), max_size=25))
def test_blocks_are_in_order_and_leave_out_white_space_only(lines: list[str]) -> None:
    text = "\n".join(lines)
    end = 0
    for block in blocks(text):
        start, stop = block.span
        assert not text[end:start].strip()
        assert start < stop
        end = stop
    assert not text[end:].strip()


def test_a_position_is_under_the_headings_above_it_outermost_first() -> None:
    text = "# A\na\n## B ##\nb\n### C\nc\n## D\nd\n# E\ne"
    outline = Outline.of(text)
    assert outline.path_at(0) == ()
    assert outline.path_at(text.index("a\n")) == ("A",)
    assert outline.path_at(text.index("c\n")) == ("A", "B", "C")
    assert outline.path_at(text.index("d\n")) == ("A", "D")
    assert outline.path_at(text.index("## D")) == ("A",)
    assert outline.path_at(text.index("e")) == ("E",)


def test_a_comment_in_code_is_not_a_heading() -> None:
    text = "# A\n```\n# B\n```\nafter"
    assert Outline.of(text).path_at(text.index("after")) == ("A",)
    assert Kind.CODE in {block.kind for block in blocks(text)}
