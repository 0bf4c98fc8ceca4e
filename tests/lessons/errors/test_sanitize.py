from pathlib import Path

import pytest

from learning_memory_server.lessons.errors.prefixes import without_prefixes
from learning_memory_server.lessons.errors.sanitize import error_line, normalized, shows_error, tidied
from learning_memory_server.model.limits import SIGNATURE_MAX

TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "/home/ada/shop/manage.py", line 22, in <module>
    main()
ModuleNotFoundError: No module named 'django'
"""
CHAINED = """Traceback (most recent call last):
  File "a.py", line 3, in load
KeyError: 'host'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 9, in <module>
shop.errors.SettingsError: no host in /etc/shop.toml
"""
PYTEST = """============================= test session starts ==============================
collected 2 items

test_price.py .F                                                         [100%]

=================================== FAILURES ===================================
    def test_total():
>       assert total([3, 4]) == 8
E       assert 7 == 8
E        +  where 7 = total([3, 4])

test_price.py:9: AssertionError
=========================== short test summary info ============================
FAILED test_price.py::test_total - assert 7 == 8
"""
CARGO = """   Compiling shop v0.1.0 (/home/ada/shop)
error[E0308]: mismatched types
 --> src/main.rs:4:18
  |
4 |     let x: u32 = "a";
error[E0425]: cannot find value `y` in this scope
error: could not compile `shop` (bin "shop") due to 2 previous errors
"""
NPM = """npm ERR! code ENOENT
npm ERR! syscall open
npm ERR! path /home/ada/shop/package.json
npm ERR! errno -2
npm ERR! enoent ENOENT: no such file or directory, open '/home/ada/shop/package.json'
npm ERR! A complete log of this run can be found in: /home/ada/.npm/_logs/2026-01-02T03_04_05_678Z-debug-0.log
"""
NODE = """/srv/app.js:3
    run();
    ^

TypeError: Cannot read properties of undefined (reading 'name')
    at run (/srv/app.js:1:20)
    at Object.<anonymous> (/srv/app.js:3:5)
"""
GO = """# example.com/shop
./main.go:7:2: undefined: fmt.Printn
FAIL\texample.com/shop [build failed]
"""
GCC = """main.c: In function 'main':
main.c:4:5: error: 'x' undeclared (first use in this function)
make: *** [Makefile:3: main.o] Error 1
"""
JAVA = """Exception in thread "main" java.lang.NullPointerException: Cannot invoke "String.length()" because "<local1>" is null
\tat Main.main(Main.java:5)
"""
NOISY_START = """Error processing line 1 of /opt/site-packages/broken.pth:

  Traceback (most recent call last):
    File "/opt/lib/site.py", line 169, in addpackage
  AttributeError: 'NoneType' object has no attribute 'loader'

Remainder of file ignored
ERROR: /srv/shop is not a valid editable requirement.
"""


def signature(output: str) -> str | None:
    """Return the signature of an output in which nothing is secret."""
    return normalized(error_line(output) or "")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (TRACEBACK, "ModuleNotFoundError: No module named <name>"),
        (CHAINED, "shop.errors.SettingsError: no host in <path>"),
        (CARGO, "error[E0308]: mismatched types"),
        (NPM, "npm ERR! enoent ENOENT: no such file or directory, open <name>"),
        (NODE, "TypeError: Cannot read properties of undefined (reading <name>)"),
        (GO, "<path>: undefined: fmt.Printn"),
        (GCC, "<path>: error: <name> undeclared (first use in this function)"),
        (
            JAVA,
            "Exception in thread <name> java.lang.NullPointerException: Cannot invoke <name> because <name> is null",
        ),
        (NOISY_START, "ERROR: <path> is not a valid editable requirement."),
        ("bash: line 1: pyhton: command not found", "bash: line <n>: pyhton: command not found"),
        (
            "fatal: not a git repository (or any of the parent directories): .git",
            "fatal: not a git repository (or any of the parent directories): .git",
        ),
        (
            "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds: the len is 3 but the index is 9",
            "thread <name> panicked at <path>:",
        ),
        (
            "make: Entering directory '/srv'\nmake: *** No rule to make target 'tset'.  Stop.",
            "make: *** No rule to make target <name>. Stop.",
        ),
        (
            "FAIL src/a.test.js\n  ● Test suite failed to run\n\n    Cannot find module 'lodash' from 'src/a.js'",
            "Cannot find module <name> from <name>",
        ),
        (
            "[ERROR] COMPILATION ERROR :\n[ERROR] /srv/Main.java:[3,18] ';' expected\n[ERROR] -> [Help 1]",
            "[ERROR] <path>:[<n>] <name> expected",
        ),
        (
            "main.c:(.text+0x5): undefined reference to `area'\ncollect2: error: ld returned 1 exit status",
            "<path>:(.text+<id>): undefined reference to <name>",
        ),
        ("│ Error: Unsupported argument\n│   on main.tf line 3", "Error: Unsupported argument"),
        ("  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---- 1 ----\n    | ValueError: a", "ValueError: a"),
        (
            "curl: (7) Failed to connect to 127.0.0.1 port 8080 after 0 ms: Couldn't connect to server",
            "curl: (<n>) Failed to connect to <address> port <n> after <n>: Couldn't connect to server",
        ),
    ],
    ids=lambda value: value.strip().splitlines()[-1][:30],
)
def test_the_signature_is_the_line_that_names_the_error(output: str, expected: str) -> None:
    assert signature(output) == expected


def test_a_failing_assertion_of_pytest_is_found_among_its_report() -> None:
    assert signature(PYTEST) == "FAILED <path>::test_total - assert <n> == <n>"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cat: a/b.txt: No such file or directory", "cat: /srv/other/c.txt: No such file or directory"),
        ("KeyError: 'name'", "KeyError: 'price'"),
        ("error: bad object 3f2a9c1d0", "error: bad object 99ab1c2"),
        ("Error: listen EADDRINUSE at 10.0.0.1:8080", "Error: listen EADDRINUSE at 10.0.0.27:3000"),
        ("ERROR: <Foo at 0x7f3a> is unknown", "ERROR: <Foo at 0x99ffee> is unknown"),
        ("error: expired at 2026-01-02 03:04:05", "error: expired at 2025-11-30T23:59:01Z"),
        ("ValueError: expected 3 items, got 17", "ValueError: expected 12 items, got 4"),
        ("fatal: unable to access 'https://a.example/x.git/'", "fatal: unable to access 'https://b.example/y'"),
        ("error: took 12.5 ms, failed", "error: took 3 s, failed"),
        ("\x1b[31merror\x1b[0m: mismatched types", "error: mismatched types"),
        (" 10%\r 90%\rerror: checksum mismatch", "error: checksum mismatch"),
    ],
)
def test_what_differs_from_time_to_time_is_left_out(one: str, other: str) -> None:
    assert signature(one) == signature(other) is not None


PLAIN = "error: mismatched types in shop.rs\n"
SEQUENCES = {
    "colour": "\x1b[31merror\x1b[0m: mismatched types in shop.rs\n",
    "colour with colons": "\x1b[38:2::255:0:0merror\x1b[39m: mismatched types in shop.rs\n",
    "curly underline": "error: \x1b[4:3mmismatched\x1b[4:0m types in shop.rs\n",
    "private parameters": "\x1b[>4;1m\x1b[?2004lerror: mismatched types in shop.rs\x1b[=1u\n",
    "intermediate bytes": "\x1b[2 qerror: mismatched types in shop.rs\x1b[!p\n",
    "tput sgr0": "error\x1b(B\x1b[m: mismatched types in shop.rs\n",
    "character sets": "\x1b)0\x1b%Gerror: mismatched\x0e\x0f types in shop.rs\x1b#8\n",
    "saved cursor": "\x1b7error: mismatched types\x1b8 in shop.rs\n",
    "line up": "\x1bMerror: mismatched types in shop.rs\x1bc\x1b=\x1b>\n",
    "device control string": "\x1bP1$r0m\x1b\\error: mismatched types in shop.rs\n",
    "device control in tmux": "\x1bPtmux;\x1b\x1b]0;title\x07\x1b\\error: mismatched types in shop.rs\n",
    "title": "\x1b]0;make\x07error: mismatched types in shop.rs\n",
    "link": "error: mismatched types in \x1b]8;;file:///a/shop.rs\x1b\\shop.rs\x1b]8;;\x1b\\\n",
    "program command": "\x1b_Gi=1;AAAA\x1b\\error: mismatched types in shop.rs\x1b^x\x1b\\\n",
    "one-byte introducer": "\x9b31merror\x9b0m: mismatched types in shop.rs\n",
    "one-byte strings": "\x9d0;make\x9c\x90q\x9cerror: mismatched types in shop.rs\n",
    "other controls of one byte": "error: \x84mismatched\x8d types in shop.rs\n",
    "step to the right": "error:\x1b[1Cmismatched\x1b[Ctypes in shop.rs\n",
    "struck over": "e\x08er\x08rr\x08ro\x08or\x08r: _\x08mismatched types in shop.rs\n",
    "erased line": "\x1b[2K\x1b[1G\rerror: mismatched types in shop.rs\x1b[K\n",
    "cut off": "error: mismatched types in shop.rs\n\x1b[3",
}


@pytest.mark.parametrize("output", SEQUENCES.values(), ids=SEQUENCES)
def test_the_same_error_with_control_sequences_is_the_same_error(output: str) -> None:
    assert signature(output) == signature(PLAIN)
    assert error_line(output) == error_line(PLAIN)


PREFIXES = {
    "compose": "web-1  | ",
    "compose of a longer name": "shop_web.1     | ",
    "compose with a name for the container": "database  | ",
    "compose with times": "web-1  | 2026-01-02T03:04:05.123456789Z ",
    "procfile": "03:04:05 web.1   | ",
    "pm2": "0|web  | ",
    "github": "2026-01-02T03:04:05.1234567Z ",
    "github with a mark of the encoding": "\ufeff2026-01-02T03:04:05.1234567Z ",
    "github's client": "build\tRun make\t2026-01-02T03:04:05.1234567Z ",
    "gitlab": "2026-01-02T03:04:05.123456Z 01O ",
    "jenkins": "[2026-01-02T03:04:05.123Z] ",
    "docker": "2026-01-02T03:04:05.123456789+01:00 ",
    "kubernetes": "[pod/web-7d9f/shop] ",
    "heroku": "2026-01-02T03:04:05.123456+00:00 app[web.1]: ",
    "journal": "Jan  2 03:04:05 host shop[123]: ",
    "concurrently": "[0] ",
    "concurrently with names": "[web] ",
    "buildkit": "#12 3.456 ",
    "turborepo": "shop-web:build: ",
    "pnpm": "packages/web test: ",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("output", [PLAIN, TRACEBACK.partition("\n")[2], f"made a\n\n{PLAIN}done, no failure\n"])
def test_the_same_error_with_a_prefix_of_each_line_is_the_same_error(prefix: str, output: str) -> None:
    prefixed = "".join(f"{prefix}{line}\n" for line in output.splitlines())
    assert signature(prefixed) == signature(output) is not None
    coloured = "".join(f"\x1b[36m{prefix}\x1b[0m{line}\n" for line in output.splitlines())
    assert signature(coloured) == signature(output)


@pytest.mark.parametrize(
    "line",
    [
        "5 |     let x: i32 = error;",
        "error | meaning",
        "[error] no such file",
        "src/a.ts: error TS2304: Cannot find name",
        "build: error: no such file",
        "#0 /srv/shop.php(12): error()",
    ],
)
def test_what_only_looks_like_a_prefix_stays(line: str) -> None:
    assert without_prefixes(line) == line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ModuleNotFoundError: No module named 'x'", "ImportError: cannot import name 'x' from 'y'"),
        ("ls: a: No such file or directory", "cat: a: No such file or directory"),
        ("error[E0308]: mismatched types", "error[E0425]: cannot find value `y` in this scope"),
    ],
)
def test_different_errors_have_different_signatures(one: str, other: str) -> None:
    assert signature(one) != signature(other)


@pytest.mark.parametrize(
    "output",
    [
        "a.py:1:8: F401 `os` imported but unused\nFound 1 error.",
        "************* Module shop\nshop.py:1:0: C0114: Missing module docstring (missing-module-docstring)",
        "platform linux -- Python 3.11.7, pytest-8.3.5\nplugins: timeout-2.1, missing-1.0\ncollected 3 items",
        "tests/test_missing.py::test_error_not_found PASSED [ 50%]",
        "Collecting error-handling\n  Downloading unknown-1.0.whl",
        "Output: built\nError: (none)\nExit Code: 1\nSignal: (none)",
    ],
)
def test_lines_that_are_no_errors_are_passed_over(output: str) -> None:
    assert signature(output) is None
    assert not shows_error(output)


@pytest.mark.parametrize(
    "output",
    [
        "Exit code 1\n/usr/bin/python: No module named pytest",
        "Output: /usr/bin/python: No module named pytest\nError: (none)\nExit Code: 1\nSignal: (none)",
        "Command: python -m pytest\nDirectory: (root)\nOutput: /usr/bin/python: No module named pytest",
    ],
)
def test_one_error_has_one_signature_in_every_client(output: str) -> None:
    assert signature(output) == "<path>: No module named pytest"


@pytest.mark.parametrize(
    "output", ["", "Exit code 1", "Exit code 2\n\n  \n", "total 56\nmain.py\n", "3c3\n< a\n---\n> b"]
)
def test_output_that_names_no_error_has_no_signature(output: str) -> None:
    assert signature(output) is None
    assert error_line(output) is None


def test_a_long_line_is_cut_and_a_huge_output_is_read_at_both_ends() -> None:
    assert len(signature("ERROR: " + "very long words " * 10_000) or "") <= SIGNATURE_MAX
    middle = "line\n" * 100_000
    assert signature(f"error: first\n{middle}") == "error: first"
    assert signature(f"{middle}OSError: last") == "OSError: last"


def test_progress_and_escapes_of_a_hostile_output_are_read_in_time() -> None:
    assert signature("\x1b[" * 50_000 + "\r" * 50_000 + "'" * 5_000 + "\nerror: at last") is not None


def test_a_list_of_numbers_is_read_in_time() -> None:
    """Each number could be a prefix of its own, or belong to the one before: 2 to the power of 100 ways."""
    assert signature("1: " * 100 + "x") is None
    assert signature("make: shop.c:1:2: error: at last") == "make: <path>: error: at last"


def test_what_looks_random_is_not_kept_though_nothing_says_that_it_is_a_secret() -> None:
    assert signature("error: access denied for Zq8vT3xLw0pR7nKd") == "error: access denied for <id>"
    assert signature("error: no test_case_2 in TestCart2") == "error: no test_case_2 in TestCart2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat /home/ada/notes.txt", "cat ~/notes.txt"),
        ("cat '/Users/ada/my notes'", "cat '~/my notes'"),
        ("ls /root", "ls ~"),
        ("type C:\\Users\\ada\\notes.txt", "type ~\\notes.txt"),
        ("ls /home", "ls /home"),
        ("ls /srv/home/ada/x", "ls /srv/home/ada/x"),
        ("cd /home/ada/src/shop && make", "cd . && make"),
        ("cd ~/src/shop/", "cd ./"),
        ("pytest /srv/build/shop/tests/a.py::b", "pytest tests/a.py::b"),
        ("pytest '/home/ada/Shop/tests/a.py'", "pytest 'tests/a.py'"),
        ("PYTHONPATH=/srv/shop:/srv/lib make", "PYTHONPATH=.:/srv/lib make"),
        ("cat /srv/shopping/a.py", "cat /srv/shopping/a.py"),
        ("git clone https://github.com/ada/shop.git", "git clone https://github.com/ada/shop.git"),
        ("make -C sub/shop", "make -C sub/shop"),
        (f"cat {Path.home()}/x", "cat ~/x"),
        (f"cat {'/deep' * 20}/shop/a.py", "cat a.py"),
    ],
)
def test_folders_of_this_machine_are_left_out(text: str, expected: str) -> None:
    assert tidied(text, "github.com/ada/shop") == expected


def test_the_folder_of_the_project_may_have_another_name() -> None:
    given = "cd /srv/work/shop-2 && cat /srv/work/shop-2/a.py /srv/work/shop-20/a.py /usr/lib/shop/b.py"
    expected = "cd . && cat a.py /srv/work/shop-20/a.py /usr/lib/shop/b.py"
    assert tidied(given, "shop", "/srv/work/shop-2/") == expected


def test_the_folder_of_the_project_is_recognized_behind_a_tilde() -> None:
    folder = str(Path.home() / "src" / "shop-2")
    assert tidied(f"cat ~/src/shop-2/a.py {folder}/b.py ~/c.py", "shop", folder) == "cat a.py b.py ~/c.py"


def test_a_path_of_thousands_of_folders_is_read_in_time() -> None:
    for text in ("cat " + "/a" * 2_000, "/" * 5_000, "/@" * 20_000):
        assert tidied(text, "shop") == text
