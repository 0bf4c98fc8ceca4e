"""Edits of JSON keep everything else: parsed, it is the same and, as text, nothing but the entry is new."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.cli.clients import json_text

ENTRY = {"command": "/opt/bin/server", "args": ["a b"], "env": {"X": 'quote " and \\'}}
PATH = ("mcpServers", "ours")

keys = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda key: key != "ours")
scalars = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=12)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
servers = st.dictionaries(keys, st.dictionaries(keys, values, max_size=2), max_size=3)
blanks = st.text(" \t\n", max_size=3)
comments = st.sampled_from(["", " // a note: {[\n", "/* one */", '/* "two": 2,\n */', "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Settings as a person writes them: any layout, comments anywhere, commas at the end."""
    content = draw(st.dictionaries(keys, values, max_size=3))
    if draw(st.booleans()):
        content["mcpServers"] = draw(servers)

    def gap() -> str:
        return draw(blanks) + draw(comments) + draw(blanks)

    def written(value: Any) -> str:
        if isinstance(value, dict | list) and value:
            parts = (
                [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{written(each)}{gap()}" for key, each in value.items()]
                if isinstance(value, dict)
                else [f"{gap()}{written(each)}{gap()}" for each in value]
            )
            last = draw(st.sampled_from(["", ",", f",{gap()}"]))
            text = ",".join(parts) + last
            return f"{{{text}}}" if isinstance(value, dict) else f"[{text}]"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    mark = draw(st.sampled_from(["", "\ufeff"]))
    return f"{mark}{gap()}{written(content)}{gap()}"


@pytest.mark.slow
@given(documents())
def test_an_entry_is_added_once_and_nothing_else_changes(text: str) -> None:
    before = json_text.parse(text)
    after = json_text.put(text, PATH, ENTRY)
    assert json_text.put(after, PATH, ENTRY) == after
    assert json_text.parse(after) == {**before, "mcpServers": {**before.get("mcpServers", {}), "ours": ENTRY}}
    # What was there is still there, in order: the new text is in one place.
    start = next((at for at, pair in enumerate(zip(text, after, strict=False)) if pair[0] != pair[1]), len(text))
    rest = text[start:]
    assert after.endswith(rest)


@pytest.mark.slow
@given(documents())
def test_what_was_added_can_be_taken_out(text: str) -> None:
    before = json_text.parse(text)
    after = json_text.drop(json_text.put(text, PATH, ENTRY), PATH)
    assert json_text.parse(after) == {"mcpServers": {}, **before}


@pytest.mark.slow
@given(servers, st.data())
def test_any_member_can_be_taken_out_wherever_it_is(content: dict[str, Any], data: st.DataObject) -> None:
    content["last"] = {}
    name = data.draw(st.sampled_from(sorted(content)))
    text = json.dumps({"mcpServers": content}, indent=data.draw(st.sampled_from([None, 2, 4])))
    after = json_text.parse(json_text.drop(text, ("mcpServers", name)))
    del content[name]
    assert after == {"mcpServers": content}


def test_an_update_keeps_the_fields_it_does_not_name() -> None:
    text = '{"mcpServers": {"ours": {"command": "/old", "disabled": true, "env": {"Y": "1"}}}}'
    after = json_text.put(text, PATH, ENTRY)
    assert json_text.parse(after)["mcpServers"]["ours"] == {
        **ENTRY,
        "disabled": True,
        "env": {"X": ENTRY["env"]["X"], "Y": "1"},  # type: ignore[index]
    }


def test_a_new_member_looks_like_its_neighbours() -> None:
    text = '{\n\t// servers\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}\n'
    assert json_text.put(text, PATH, {"command": "x"}) == (
        '{\n\t// servers\n\t"mcpServers": {\n\t\t"ours": {\n\t\t\t"command": "x"\n\t\t},\n\t\t"a": {}\n\t}\n}\n'
    )


def test_line_ends_stay_those_of_windows() -> None:
    after = json_text.put('{\r\n  "a": 1\r\n}\r\n', PATH, ENTRY)
    assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "// only a note\n"])
def test_an_empty_file_gets_an_object(text: str) -> None:
    assert json_text.parse(text) == {}
    assert json_text.parse(json_text.put(text, PATH, ENTRY)) == {"mcpServers": {"ours": ENTRY}}


@pytest.mark.parametrize(
    "text",
    [
        "[]", "3", "{", '{"a": }', '{"a" 1}', "{,}", '{"a": 1,, "b": 2}', "{} {}", '{"a": tru}', '{"a": "\n"}',
        "{'a': 1}", '{"a": 01}', "{3: 1}", '{"a": [1 2]}', "{/* }", '{"a":' * 100_000,
    ],
)  # fmt: skip
def test_what_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d+|not an object|nested"):
        json_text.parse(text)
    with pytest.raises(ValueError, match=r"line \d+|not an object|nested"):
        json_text.put(text, PATH, ENTRY)


def test_a_section_that_is_not_an_object_is_refused() -> None:
    with pytest.raises(ValueError, match="not an object"):
        json_text.put('{"mcpServers": []}', PATH, ENTRY)


def test_of_two_members_with_one_name_the_last_counts() -> None:
    assert json_text.parse('{"a": 1, "a": 2,}') == {"a": 2}


@pytest.mark.parametrize("text", ['{"mcpServers": {"ours": {}}}', '{"mcpServers": {\n  "ours": {}\n  }}'])
def test_an_object_that_becomes_empty_is_written_as_one(text: str) -> None:
    assert json_text.drop(text, PATH) == '{"mcpServers": {}}'


def test_a_comment_before_the_entry_stays_a_comment() -> None:
    text = '{"mcpServers": { // all mine\n"ours": {} }}'
    assert json_text.drop(text, PATH) == '{"mcpServers": { // all mine\n }}'
