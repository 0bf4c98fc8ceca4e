"""What a repository wrote takes no longer than its length asks for: whoever reads it holds all sessions meanwhile."""

from collections.abc import Callable
from time import thread_time

import pytest

from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.sharing import check, files, promote
from learning_memory_server.system.project_files import find_set
from tests.sharing.repositories import lesson

pytestmark = pytest.mark.slow

REDACTOR = build_redactor()
UNITS = (
    *(
        "a",
        "a ",
        "a.",
        "a/",
        "-",
        "--",
        "<!-- a: ",
        "<!-- a: b\n",
        "<!-- a",
        "<!-- a: -->\n- ",
        "/*",
        "/* ",
        "/**/",
        "//",
    ),
    *(
        '"',
        '"\\',
        '\\"',
        "\\",
        "#",
        "##  ",
        "## a\n",
        "\n",
        "\r\n",
        " ",
        "\t",
        "<",
        ">",
        "`",
        "```",
        "a@",
        "@",
        "0",
        "0 ",
    ),
    *("A1b2", "://", "ignore ", "not ", "send ", "(", "[", "{", '{"a":', "-----BEGIN ", "\x00", "й", "é", "e\u0301"),
    *(
        "漢",
        "あ",
        "|",
        ";",
        ":",
        "=",
        "a=",
        "A=a\n",
        "x: ",
        "x=y ",
        "'",
        '"a" ',
        "git ",
        "you ",
        "http://a",
        "a-",
        "a_",
    ),
    *(
        "1.",
        "1:",
        "\u00ad",
        "\u200b",
        "%",
        "eyJ",
        "$",
        "${",
        "$A",
        "${A",
        "${A}",
        "${USER}",
        "$USER",
        "${USER:-a}",
        ",",
    ),
    *(", ", "1,", "token=", "password: ", "[a]\n", "[[a]]\n", "a={", "a = 1\n", '{"a":1},', '"a":"x",', "export "),
)


def numbered(form: str) -> Callable[[int], str]:
    return lambda size: "".join(form.format(number) for number in range(size // len(form)))


def made(*heads: str) -> dict[str, Callable[[int], str]]:
    """Ways to make a text of a size, by what they repeat, alone and after each head."""
    found = {
        f"{head}{unit!r}": lambda size, unit=unit, head=head: head + (unit * size)[:size]
        for head in ("", *heads)
        for unit in UNITS
    }
    return found | {
        form: numbered(form) for form in ("A{}=x\n", 'A{}="x"\n', "[a{}]\n", '"A{}":1,', "<!-- a{}: -->\n", "a{}.")
    }


def project_file(path: str, text: str) -> None:
    list(find_set([(path, text.encode())], ("USER", "FOO"), lambda name: name.startswith("LEARNING")))


def shared(text: str) -> None:
    rendered = lesson(1, Files="README").render().encode()
    for data in (text.encode(), rendered + text.encode(), rendered.replace(b"README", text.encode())):
        files.parse(lesson(1).name, data)


READERS: dict[str, tuple[int, Callable[[str], object], tuple[str, ...]]] = {
    # Their sizes are a tenth of the largest that is read.
    "a lesson": (6_000, shared, ("## ", "# a\n")),
    "the check": (200, lambda text: list(check.objections(lesson(1, Lesson=text), REDACTOR)), ()),
    "a name": (6_000, check.named.__wrapped__, ()),
    "rules": (6_000, lambda text: promote.with_rule(text, "rule_1", "Be kind", "yours"), ('---\npaths: "', "<!-- a: ")),
    ".env": (6_000, lambda text: project_file("/p/.env", text), ("A=", "FOO=")),
    ".mcp.json": (6_000, lambda text: project_file("/p/.mcp.json", text), ('{"FOO":"', '{"a":"', '{"a":["')),
    "config.toml": (6_000, lambda text: project_file("/p/.codex/config.toml", text), ("a.", "[", 'FOO="')),
}


def seconds(work: Callable[[str], object], text: str) -> float:
    began = thread_time()
    work(text)
    return thread_time() - began


@pytest.mark.parametrize("reader", READERS)
def test_a_text_of_ten_times_the_length_takes_at_most_twenty_times_as_long(reader: str) -> None:
    size, work, heads = READERS[reader]
    slow = {}
    for name, make in made(*heads).items():
        short = long = float("inf")
        for _ in range(5):
            # Of less than a millisecond, the clock says little.
            short, long = min(short, seconds(work, make(size))), min(long, seconds(work, make(10 * size)))
            if long <= 20 * max(short, 0.001):
                break
        else:
            slow[name] = (short, long)
    assert slow == {}
