"""Sentences are read from Markdown; what is no sentence of a person is not."""

import pytest

from learning_memory_server.rules.suggesting.markdown import sentences


def read(text: str) -> list[str]:
    return list(sentences(text))


def test_paragraphs_and_items_are_split_into_sentences() -> None:
    text = "We sell tea. Never ship\nwithout a label.\n\n- **Always** weigh it (e.g. twice). Then pack it.\n  It is heavy.\n"
    assert read(text) == [
        "We sell tea.",
        "Never ship without a label.",
        "Always weigh it (e.g. twice).",
        "Then pack it.",
        "It is heavy.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "# Never ship",
        "<!-- Never ship\nand more -->",
        "| Never | ship |\n|---|---|",
        "```bash\n# Never ship\nship\n```",
        "~~~\nNever ship.\n~~~",
        "[tea]: https://example.org/never",
        "---",
    ],
)
def test_headings_comments_tables_and_code_have_no_sentences(text: str) -> None:
    assert read(text) == []


def test_targets_of_links_and_signs_are_left_out() -> None:
    assert read("\N{WARNING SIGN}\ufe0f **IMPORTANT**: See [the *list*](https://example.org/a) of teas.") == [
        "See the list of teas."
    ]


def test_code_in_a_sentence_stays_as_it_is() -> None:
    assert read("Never run `make **all** __init__`, use *one* `make tea`.") == [
        "Never run `make **all** __init__`, use one `make tea`."
    ]


def test_commands_below_a_sentence_belong_to_it() -> None:
    assert read("Weigh the tea after each change:\n\n```bash\nmake weigh  # all\nmake pack\n```\nIt is fast.") == [
        "Weigh the tea after each change: `make weigh`, `make pack`",
        "It is fast.",
    ]


@pytest.mark.parametrize("code", ["```go\nfunc()\n```", "```\na\nb\nc\nd\n```", "```sh\n# nothing\n```"])
def test_other_code_below_a_sentence_is_left_out(code: str) -> None:
    assert read(f"Weigh the tea:\n{code}") == ["Weigh the tea"]


def test_a_heading_that_says_when_belongs_to_the_first_commands_below_it() -> None:
    text = (
        "## Before each sale (REQUIRED)\n\nThe shop closes otherwise:\n```bash\nmake weigh\n```\n```bash\nmake tea\n```"
    )
    assert read(text) == ["The shop closes otherwise", "Before each sale (REQUIRED): `make weigh`"]


@pytest.mark.parametrize("lead", ["### Do NOT:", "Never:", "## Things to never do"])
def test_an_item_says_what_its_lead_forbids(lead: str) -> None:
    text = f"{lead}\n- Use plastic bags\n- Never mix teas\n"
    assert read(text)[-2:] == ["Do not use plastic bags", "Never mix teas"]


def test_a_heading_about_something_else_forbids_nothing() -> None:
    assert read("## Do not open the tin\n\n- The tin keeps the smell\n") == ["The tin keeps the smell"]


@pytest.mark.parametrize("lead", ["## Wrong", "Bad examples:", "Common mistakes:"])
def test_lists_of_bad_examples_are_left_out(lead: str) -> None:
    assert "Always use plastic" not in " ".join(read(f"{lead}\n\n- Always use plastic bags\n"))


def test_the_lead_of_a_list_of_names_belongs_to_each() -> None:
    assert read("Never sell these:\n\n- `old.tea`\n- stale bread\n") == [
        "Never sell these: `old.tea`",
        "Never sell these: stale bread",
    ] or read("Never sell these:\n\n- `old.tea`\n- stale bread\n") == [
        "Never sell these",
        "Never sell these: `old.tea`",
        "Never sell these: stale bread",
    ]


def test_an_open_fence_ends_with_the_text() -> None:
    assert read("Tea first.\n```bash\nNever ship") == ["Tea first."]
