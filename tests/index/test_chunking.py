import threading
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.source import model_folder
from learning_memory_server.embedding.tokens import EstimatedTokens, ModelTokens, TokenMeasure
from learning_memory_server.index.memory_chunks import BlockKind, Chunker, Outline, blocks, documents_of
from learning_memory_server.model.memory import Memory
from tests.support import NOON

ESTIMATED = EstimatedTokens()
MODEL = ModelTokens(model_folder(DEFAULT_MODEL))
MEASURES = pytest.mark.parametrize("measure", [ESTIMATED, MODEL], ids=["estimated", "model"])


def chunks(text: str, measure: TokenMeasure = MODEL) -> list[str]:
    return [text[start:end] for start, end in Chunker(measure).chunk(text).spans]


def words(count: int, word: str = "word") -> str:
    return " ".join([word] * count)


@MEASURES
def test_a_short_text_is_one_chunk(measure: TokenMeasure) -> None:
    assert chunks("We chose Postgres.\n\nIt has partial indexes.", measure) == [
        "We chose Postgres.\n\nIt has partial indexes."
    ]


def test_a_text_that_fits_into_the_model_stays_whole() -> None:
    parts = [f"# Part {number}\n\n{words(59)}" for number in range(4)]
    text = "\n\n".join(parts)
    assert 240 < MODEL.count([text])[0] <= 254
    assert chunks(text) == [text]
    assert chunks(f"{text}\n\n{words(20)}")[0] == "\n\n".join(parts[:2])


@MEASURES
def test_paragraphs_stay_whole_and_as_many_as_fit_are_together(measure: TokenMeasure) -> None:
    paragraphs = [f"{words(49)} {number}." for number in range(7)]
    found = chunks("\n\n".join(paragraphs), measure)
    assert found == ["\n\n".join(paragraphs[at : at + 2]) for at in range(0, 7, 2)]


def test_no_chunk_has_more_tokens_than_128_and_most_have_64() -> None:
    text = "\n\n".join(words(3 + 7 * number % 90) for number in range(200))
    sizes = MODEL.count(chunks(text))
    assert max(sizes) <= 128
    assert sum(size >= 64 for size in sizes) > 0.9 * len(sizes)


def test_a_code_block_that_fits_is_never_divided() -> None:
    code = "```sh\n" + "make test\n\n" * 40 + "```"
    text = f"{words(100)}\n\n{code}\n\n{words(100)}"
    assert 80 < MODEL.count([code])[0] <= 128
    assert chunks(text) == [words(100), code, words(100)]


def test_a_code_block_that_is_too_long_is_divided_between_lines() -> None:
    lines = [f"value_{number} = compute({number})" for number in range(100)]
    text = "\n".join(["```python", *lines, "```"])
    found = chunks(text)
    assert len(found) > 1
    assert "\n".join(found) == text


def test_a_paragraph_that_is_too_long_is_divided_between_sentences() -> None:
    sentences = [f"{words(28)} {number}." for number in range(12)]
    text = " ".join(sentences)
    found = chunks(text)
    assert len(found) > 1
    assert " ".join(found) == text
    assert all(part.endswith(".") for part in found)


def test_only_a_sentence_that_is_too_long_becomes_windows_with_a_quarter_of_overlap() -> None:
    text = " ".join(f"w{number}" for number in range(600))
    measured = MODEL.count([text])[0]
    spans = Chunker(MODEL).chunk(text).spans
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    for (_, end), (start, _) in pairwise(spans):
        assert 24 <= MODEL.count([text[start:end]])[0] <= 34
    assert len(spans) == pytest.approx(measured / 96, abs=1)


def test_turns_of_a_conversation_stay_whole() -> None:
    turns = [f"{name}: {words(40)} {number}" for number in range(6) for name in ("Ann", "Bob")]
    text = "\n".join(turns)
    assert [turn for part in chunks(text) for turn in part.split("\n")] == turns


def after_a_long_beginning(text: str) -> list[str]:
    """Return the chunks of a text at the end of a longer one."""
    beginning = [words(120), words(120)]
    first, second, *rest = chunks("\n\n".join([*beginning, text]))
    assert [first, second] == beginning
    return rest


def test_a_section_begins_a_chunk_once_the_one_before_is_half_full() -> None:
    sections = [f"# One\n\n{words(70)}", f"# Two\n\n{words(20)}"]
    assert after_a_long_beginning("\n\n".join(sections)) == sections


def test_a_heading_is_never_left_behind_at_the_end_of_a_chunk() -> None:
    parts = [words(50), f"## Next\n\n{words(100)}"]
    assert after_a_long_beginning("\n\n".join(parts)) == parts


def test_a_heading_that_does_not_fit_with_its_text_is_only_in_the_header() -> None:
    assert after_a_long_beginning(f"## Next\n\n{words(127)}") == [words(127)]


def test_a_text_of_headings_only_is_kept_completely() -> None:
    text = "\n".join(f"# Heading number {number}" for number in range(100))
    assert "\n".join(chunks(text)) == text


@MEASURES
@pytest.mark.parametrize(
    "text",
    [
        "A" * 20_000,
        "\u63a5\u7d9a\u304c\u9589\u3058\u3089\u308c\u306a\u3044" * 500,
        "\U0001f600" * 3000,
        ". " * 5000,
        "\u200b" * 5000,
        "x\n" * 5000,
        "```\n" + "a b\n" * 3000,
    ],
    ids=["unbroken", "japanese", "emoji", "dots", "invisible", "lines", "open-fence"],
)
def test_a_text_without_structure_is_divided_too(measure: TokenMeasure, text: str) -> None:
    text = text.strip()
    spans = Chunker(measure).chunk(text).spans
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(start < end <= start + 2048 for start, end in spans)
    assert all(text[end:start].strip() == "" for (_, end), (start, _) in pairwise(spans))
    assert max(measure.count([text[start:end] for start, end in spans])) <= 130


LINES = st.sampled_from(["# A", "```", words(30), words(70, "longer"), "Ann: hi", "", "- item", "x" * 300])


@given(st.lists(LINES, min_size=1, max_size=30))
def test_chunking_is_deterministic_and_loses_nothing_but_white_space_and_headings(lines: list[str]) -> None:
    text = "\n".join(lines).strip()
    chunker = Chunker(ESTIMATED)
    spans = chunker.chunk(text).spans
    assert spans == Chunker(EstimatedTokens()).chunk(text).spans
    covered = [False] * len(text)
    for start, end in spans:
        covered[start:end] = [True] * (end - start)
    missing = "".join(character for character, there in zip(text, covered, strict=True) if not there)
    assert not missing.replace("# A", "").strip()


def test_a_header_with_its_chunk_fits_into_the_model() -> None:
    chunker = Chunker(MODEL)
    header = chunker.header(["2026-03-01", words(200, "s"), words(200, "t"), *[words(90, "h")] * 3])
    assert MODEL.count([header])[0] <= chunker.header_max
    assert header.startswith("2026-03-01 | s s")
    assert chunker.header_max + chunker.chunk_max <= 254


@pytest.mark.parametrize("left", [0, 1, 5, 100])
def test_a_header_has_the_tokens_that_a_whole_text_leaves(left: int) -> None:
    text = words(254 - left)
    header = Chunker(MODEL).header(["2026-03-01", words(200, "s"), words(200, "t")], body=text)
    assert chunks(text) == [text]
    assert min(left, 60) <= MODEL.count([header])[0] <= min(left, 64)
    assert MODEL.count([f"{header}\n{text}"])[0] <= 254


class SmallWindow(EstimatedTokens):
    window = 64


def test_a_model_that_reads_less_gets_smaller_chunks() -> None:
    chunker = Chunker(SmallWindow())
    assert chunker.header_max + chunker.chunk_max <= 62
    text = " ".join(f"{words(20)} {number}." for number in range(20))
    assert max(ESTIMATED.count([text[start:end] for start, end in chunker.chunk(text).spans])) <= 62


def test_chunkers_that_chunk_differently_have_different_names() -> None:
    names = {Chunker(measure).name for measure in (ESTIMATED, MODEL)}
    assert len(names) == 2


def test_chunking_that_is_cancelled_stops_soon() -> None:
    given_up = threading.Event()
    given_up.set()
    assert Chunker(ESTIMATED).chunk(words(100_000), given_up.is_set).spans == ()


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
    assert BlockKind.CODE in {block.kind for block in blocks(text)}


CHUNKER = Chunker(ESTIMATED)
TEXT = "\n\n".join(
    f"## Part {number // 20}\n\nParagraph {number} tells of topic{number}. " + "It goes on and on. " * 16
    for number in range(3_000)
)


def memory_of(text: str) -> Memory:
    metadata = {"source": "wiki", "tags": ["ops", "db"]}
    return Memory("m1", text, metadata, NOON, "garden", NOON, chunking=CHUNKER.chunk(text))


def test_a_document_has_the_text_and_the_span_of_its_chunk() -> None:
    memory = memory_of(TEXT[:20_000])
    documents = list(documents_of(memory, CHUNKER))
    assert [each.text for each in documents_of(memory, CHUNKER, {2, 3})] == [each.text for each in documents[2:4]]
    assert [each.payload["chunk_index"] for each in documents] == list(range(len(documents)))
    assert documents[3].payload == {
        "memory_id": "m1",
        "tags": ["ops", "db"],
        "source": "wiki",
        "project": "garden",
        "created_at": NOON.isoformat(),
        "chunk_index": 3,
        "start": documents[3].payload["start"],
        "end": documents[3].payload["end"],
    }


@pytest.mark.slow
def test_the_documents_of_a_long_text_take_little_ram() -> None:
    memory = memory_of(TEXT)
    tracemalloc.start()
    try:
        documents = list(documents_of(memory, CHUNKER))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(TEXT) > 1_000_000
    assert held / len(documents) < 300


def test_the_header_has_what_was_given_and_nothing_else() -> None:
    text = "The pool runs dry."
    dated = Memory("m1", text, {"timestamp": "2026-03-01"}, NOON, "garden", NOON, chunking=CHUNKER.chunk(text))
    bare = Memory("m1", text, {}, NOON, "garden", NOON, chunking=CHUNKER.chunk(text))

    assert [each.text for each in documents_of(dated, CHUNKER)] == [f"{NOON:%Y-%m-%d}\n{text}"]
    assert [each.text for each in documents_of(bare, CHUNKER)] == [text]
