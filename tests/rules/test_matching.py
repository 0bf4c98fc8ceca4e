"""A call breaks a rule only if all that the pattern says is so, and one that follows it is seen as that."""

import json
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.model.rule import CallForm, MessageForm, Pattern
from learning_memory_server.rules.forms import signs
from learning_memory_server.rules.patterns.asking import is_asked
from learning_memory_server.rules.patterns.matching import Act, Verdict, Work, judge, judge_end, matches
from learning_memory_server.shell.script import read

PROMPTS: Final = json.loads((Path(__file__).parent / "prompts.json").read_text("utf-8"))
BROKEN, FOLLOWED = Verdict.BROKEN, Verdict.FOLLOWED
COMMIT: Final = CallForm(("git", "commit"))
PUSH: Final = CallForm(("git", "push"))
TESTS: Final = CallForm(("make", "test"))
FORM: Final = Pattern(broken=(COMMIT,), form=MessageForm.CONVENTIONAL)


def call(text: str, root: str = "") -> Act:
    return Act(read(text), root=root)


def edit(file: str, content: str = "", before: str = "", root: str = "") -> Act:
    return Act(None, file, content, before, root)


def is_of(form: CallForm, text: str) -> bool:
    return any(matches(form, each) for each in read(text).commands)


@pytest.mark.parametrize(
    ("form", "text", "is_match"),
    [
        (CallForm(("npm", "run", "build:binaries")), "npm --prefix x run -s build:binaries", True),
        (CallForm(("npm", "run", "build")), "npm run build:binaries", False),
        (CallForm(("make", "lint")), "make test lint", True),
        (CallForm(("make", "lint", "test")), "make test lint", True),
        (CallForm(("git", "push", "origin")), "git push upstream origin", False),
        (CallForm(("./scripts/deploy.sh",)), "bash -c 'cd x && scripts/deploy.sh'", True),
        (CallForm((), having=("--no-verify",)), "git push --no-verify", True),
        (CallForm((), having=("--no-verify",)), "git commit -m --no-verify", False),
        (CallForm(("rm",), having=("-r", "--recursive")), "rm -fr x", True),
        (CallForm(("rm",), having=("-rf",)), "rm -f x", False),
        (CallForm(("rm",), having=("-rf",)), "rm --recursive -f x", True),
        (CallForm(("git", "add"), having=("-A", ".")), "git add .", True),
        (CallForm(("git", "add"), having=("-A", ".")), "git add ./x", False),
        (CallForm(("gh", "pr", "create"), lacking=("--draft",)), "gh pr create -t x", True),
        (CallForm(("gh", "pr", "create"), lacking=("--draft",)), "gh pr create -dt x", False),
        (CallForm(("git", "push"), having=("main",)), "git push origin HEAD:main", True),
        (CallForm(("git", "push"), having=("main",)), "git push origin +refs/heads/main", True),
        (CallForm(("git", "push"), having=("main",)), "git push origin main-2", False),
        (CallForm(("git", "push"), having=("release/*",)), "git push origin release/2", True),
        (CallForm(("git", "push"), having=("--force*",)), "git push --force-with-lease=x", True),
        (CallForm(("npm", "install"), having=("--omit=dev",)), "npm install --omit dev", False),
        (CallForm(("npm", "install"), having=("--omit=dev",)), "npm install --omit=dev", True),
        (CallForm(("npm", "install"), having=("--prefix=x",)), "npm --prefix x install", True),
        (CallForm(("npm", "install"), having=("--omit",)), "npm install --omit=dev", True),
        (CallForm(("python", "-m", "pytest")), "python -m pytest x", True),
        (CallForm(("python", "-m", "pytest")), "python pytest", False),
        (CallForm(("git",), having=("-C",)), "git -C x status", True),
    ],
)
def test_a_form_has_words_in_order_and_others_anywhere(form: CallForm, text: str, is_match: bool) -> None:
    assert is_of(form, text) is is_match


TRAILER: Final = Pattern(broken=(COMMIT,), texts=("co-authored-by: claude",))
NPM: Final = Pattern(broken=(CallForm(("npm",)),), about=(CallForm(("pnpm",)),))
TIDY: Final = Pattern(broken=(CallForm(("git", "add"), having=("-A",)),))


@pytest.mark.parametrize(
    ("pattern", "text", "verdict"),
    [
        (TRAILER, "git commit -m 'x\n\nCo-Authored-By: Claude <a@b>'", BROKEN),
        (TRAILER, "git commit -m x", FOLLOWED),
        (TRAILER, "git commit", None),
        (TRAILER, "echo 'Co-Authored-By: Claude'", None),
        (TRAILER, "git commit -F - <<E\nCo-authored-by: claude\nE", BROKEN),
        (NPM, "npm test", BROKEN),
        (NPM, "cd x && pnpm test", FOLLOWED),
        (NPM, "pnpm i && npm test", BROKEN),
        (NPM, "ls", None),
        (TIDY, "git add -Av", BROKEN),
        (TIDY, "git add x", FOLLOWED),
        (TIDY, "git status", None),
        (Pattern(broken=(CallForm((), having=("--no-verify",)),)), "ls", None),
        (Pattern(), "git push", None),
    ],
)
def test_a_command_breaks_follows_or_is_no_matter(pattern: Pattern, text: str, verdict: Verdict | None) -> None:
    assert judge(pattern, call(text), Work()) is verdict


@pytest.mark.parametrize(
    ("form", "text", "verdict"),
    [
        ("conventional", "git commit -m 'feat(a): x'", FOLLOWED),
        ("conventional", "git commit -m 'fix!: x'", FOLLOWED),
        ("conventional", "git commit -m 'Fix x'", BROKEN),
        ("conventional", "git commit -m 'Merge branch x'", FOLLOWED),
        ("conventional", "git commit -m 'fixup! x'", FOLLOWED),
        ("conventional", 'git commit -m "$M"', None),
        ("conventional", 'git commit -m "feat: $M"', FOLLOWED),
        ("conventional", "git commit", None),
        ("conventional", "git commit -F x", None),
        ("conventional", "git commit --amend --no-edit", None),
        ("one line", "git commit -m x -m y", BROKEN),
        ("one line", "git commit -m x", FOLLOWED),
        ("one line", "git commit -m x --trailer 'a: b'", BROKEN),
        ("latin", "git commit -m 'исправить x'", BROKEN),
        ("latin", "git commit -m 'naïve façade of µs, 日本'", FOLLOWED),
        ("latin", "git commit -m '1.2'", FOLLOWED),
        ("no emoji", "git commit -m '🎉 x'", BROKEN),
        ("no emoji", "git commit -m 'x :tada:'", BROKEN),
        ("no emoji", "git commit -m 'std::a::b → ✓ ©'", FOLLOWED),
    ],
)
def test_a_message_is_of_a_form(form: str, text: str, verdict: Verdict | None) -> None:
    assert judge(Pattern(broken=(COMMIT,), form=MessageForm(form)), call(text), Work()) is verdict


def test_a_body_without_a_title_is_not_judged_as_a_title() -> None:
    pattern = Pattern(broken=(CallForm(("gh", "pr")),), form=MessageForm.CONVENTIONAL)
    assert judge(pattern, call("gh pr edit 1 --body Hello"), Work()) is None
    assert judge(pattern, call("gh pr create -b 'feat: x' -t Hello"), Work()) is BROKEN


FIRST: Final = Pattern(broken=(COMMIT,), first=(TESTS,))


def test_what_comes_first_must_have_succeeded_since_the_last_edit() -> None:
    work = Work()
    assert judge(FIRST, call("git commit -m x"), work) is BROKEN
    work.ran(read("cd x && make lint test 2>&1 | tail"))
    assert judge(FIRST, call("git commit -m x"), work) is FOLLOWED
    work.edited("a.py")
    assert judge(FIRST, call("git commit -m x"), work) is BROKEN
    work.ran(read("make test"))
    work.ran(read("sed -i s/a/b/ a.py"))
    assert judge(FIRST, call("git commit -m x"), work) is BROKEN
    work.ran(read("cat > a.py <<E\nE\nmake test"))
    assert judge(FIRST, call("git commit -m x"), work) is FOLLOWED


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("make test && git commit -m x", FOLLOWED),
        ("make test || exit 1; git commit -m x", FOLLOWED),
        ("if make test; then git commit -m x; fi", FOLLOWED),
        ("set -e; make test; git commit -m x", FOLLOWED),
        ("make test && cat > /tmp/m <<E\nx\nE\nmake test && git commit -F /tmp/m", FOLLOWED),
        ("make test; git commit -m x", BROKEN),
        ("make test || git commit -m x", BROKEN),
        ("git commit -m x && make test", BROKEN),
        ("make test && sed -i s/a/b/ x && git commit -m x", BROKEN),
    ],
)
def test_what_comes_first_may_stand_before_it(text: str, verdict: Verdict) -> None:
    assert judge(FIRST, call(text), Work()) is verdict


def test_each_of_several_must_come_first() -> None:
    pattern = Pattern(broken=(COMMIT,), first=(TESTS, CallForm(("make", "lint"))))
    assert judge(pattern, call("make test && git commit -m x"), Work()) is BROKEN
    assert judge(pattern, call("make test lint && git commit -m x"), Work()) is FOLLOWED


def test_a_rule_of_the_end_is_about_work_with_an_edit() -> None:
    pattern, work = Pattern(first=(TESTS,)), Work()
    assert judge_end(pattern, work) is None
    work.edited("a.py")
    assert judge_end(pattern, work) is BROKEN
    work.ran(read("make test"))
    assert judge_end(pattern, work) is FOLLOWED
    assert judge_end(Pattern(), work) is None


@pytest.mark.parametrize(
    ("act", "prompt", "is_asked_for"),
    [(*each, is_asked_for) for name, is_asked_for in (("asked", True), ("not", False)) for each in PROMPTS[name]],
)
def test_what_a_prompt_asks_for(act: str, prompt: str, is_asked_for: bool) -> None:
    words = signs.ASKED.get(act, (act,))
    assert is_asked(words, prompt) is is_asked_for
    found = judge(Pattern(broken=(COMMIT,), asked=words), call("git commit -m x"), Work(prompt))
    assert found is (FOLLOWED if is_asked_for else BROKEN)


def test_a_long_prompt_takes_no_time() -> None:
    for unit in (
        "please ",
        "now, ",
        "commit ",
        "and ",
        "a ",
        "make a ",
        "with x ",
        "`",
        "'x",
        "commit this ",
        "\n",
        "の",
    ):
        start = perf_counter()
        is_asked(("deploy", "npm"), unit * 20_000)
        assert perf_counter() - start < 0.2


@pytest.mark.parametrize(
    ("glob", "file", "is_match"),
    [
        ("src/gen/**", "src/gen/a/b.py", True),
        ("src/gen", "src/gen/a.py", True),
        ("src/gen/", "src/gen2/a.py", False),
        ("*.lock", "a/b/c.lock", True),
        ("*.lock", "a/c.locks", False),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("**/migrations/*.py", "a/migrations/b.py", True),
        ("node_modules", "web/node_modules/x/y.js", True),
        (".env*", ".env.local", True),
        ("./live/**", "live/x", True),
        ("live/**", "./x/../live/x", True),
        ("live/**", "/p/live/x", True),
        ("live/**", "/q/live/x", False),
        ("live/**", "../live/x", False),
    ],
)
def test_a_glob_means_files(glob: str, file: str, is_match: bool) -> None:
    pattern = Pattern(files=(glob,))
    assert judge(pattern, edit(file, root="/p"), Work()) is (BROKEN if is_match else None)
    assert judge(pattern, call(f"echo x > {file}", root="/p"), Work()) is (BROKEN if is_match else None)


def test_a_command_that_writes_a_file_is_an_edit_of_it() -> None:
    pattern = Pattern(files=("live/**",))
    for text in ("sed -i s/a/b/ live/x", "cd live && rm x", "rm -rf live", "echo x | tee live/x", "cp a live/"):
        assert judge(pattern, call(text), Work()) is BROKEN
    for text in ("cat live/x", "cp live/x .", "ssh h 'rm live/x'", "grep x live/* > out"):
        assert judge(pattern, call(text), Work()) is None


def test_only_what_an_edit_adds_breaks_a_rule_of_contents() -> None:
    pattern = Pattern(files=("*.ts",), contents=("console.log",))
    assert judge(pattern, edit("a.ts", "console.log(1)"), Work()) is BROKEN
    assert judge(pattern, edit("a.ts", "console.log(1)", "console.log(2)"), Work()) is FOLLOWED
    assert judge(pattern, edit("a.ts", "x"), Work()) is FOLLOWED
    assert judge(pattern, edit("a.js", "console.log(1)"), Work()) is None
    assert judge(pattern, call("cat > a.ts <<E\nconsole.log(1)\nE"), Work()) is BROKEN
    anywhere = Pattern(contents=("console.log",))
    assert judge(anywhere, edit("a.js", "console.log(1)"), Work()) is BROKEN
    assert judge(anywhere, edit("a.js", "x"), Work()) is None
    assert judge(anywhere, call("cat > a.ts <<E\nconsole.log(1)\nE"), Work()) is BROKEN


WORDS: Final = st.lists(st.sampled_from("git commit push -m -rf --x=y * -* -- / ** [ a !".split()) | st.text()).map(
    tuple
)


@given(
    st.builds(Pattern, st.tuples(st.builds(CallForm, WORDS, WORDS, WORDS)), texts=WORDS, files=WORDS, contents=WORDS),
    st.text() | st.lists(st.sampled_from("git commit -m x > a ; && --x=y sed -i".split())).map(" ".join),
    st.sampled_from([None, *MessageForm]),
)
def test_nothing_raises(pattern: Pattern, text: str, form: MessageForm | None) -> None:
    work = Work(prompt=text)
    work.ran(read(text))
    others = Pattern(pattern.broken, form=form, first=pattern.broken, asked=pattern.texts)
    for each in (pattern, others):
        judge(each, Act(read(text), text, text), work)
        judge_end(each, work)


ROOT: Final = "/work/shop"
COMMITS: Final = Pattern(broken=(COMMIT,))


@pytest.mark.parametrize(
    "text",
    [
        "cd /tmp/x && git init && git commit -m x",
        "git -C /tmp/x commit -m x",
        "git --git-dir=/tmp/x/.git --work-tree /tmp/x commit -m x",
        "git --git-dir /tmp/x/.git commit -m x",
        "cd ../other && git commit -m x",
        "cd /work/shop-2; git commit -m x",
        "pushd /tmp/x >/dev/null && git commit -m x",
        "(cd /tmp/x; git commit -m x)",
        "cd ~/notes && git commit -m x",
        "cd && git commit -m x",
        "cd $HOME/notes && git commit -m x",
        'D=/tmp/x; cd "$D" && git commit -m x',
        'cd "$(mktemp -d)" && git commit -m x',
        'git -C "$TMPDIR/x" commit -m x',
        "cd /tmp && cd x && bash -c 'git commit -m x'",
        "bash -c 'cd /tmp/x && git commit -m x'",
        "env -C /tmp/x git commit -m x",
        "sudo -u bob -D /tmp/x git commit -m x",
        "mkdir -p demo && cd demo && git init -q && git commit -m x",
        "git init demo && git -C demo commit -m x",
        "git clone --depth 1 https://a.b/c/demo.git && cd demo && git commit -m x",
        "git clone https://a.b/c/demo.git web/d && cd web/d && git commit -m x",
        "cd web && cd /tmp/x && git commit -m x",
        "cd C:/other && git commit -m x",
    ],
)
def test_a_command_that_works_elsewhere_breaks_a_rule_for_everywhere_only(text: str) -> None:
    act = call(text, ROOT)
    assert judge(COMMITS, act, Work()) is None
    assert judge(COMMITS, act, Work(), is_everywhere=True) is BROKEN


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m x",
        "cd web && git commit -m x",
        "cd /work/shop/web && git commit -m x",
        "cd ../shop && git commit -m x",
        "(cd /tmp/x && git init) && git commit -m x",
        "cd /tmp/x && ls && cd - && git commit -m x",
        "pushd /tmp/x && ls && popd && git commit -m x",
        "cd /tmp && cd /work/shop && git commit -m x",
        "git -C web commit -m x",
        "git commit -C HEAD",
        'cd "$(git rev-parse --show-toplevel)" && git commit -m x',
        'cd /tmp && cd "$CLAUDE_PROJECT_DIR/web" && git commit -m x',
        'git -C "$PWD" commit -m x',
        "cd `git rev-parse --show-toplevel`/web && git commit -m x",
        "bash -c 'cd /tmp/x' ; git commit -m x",
        "ssh host ls; git commit -m x",
        "ssh host 'cd /srv/shop && git commit -m x'",
        "git init && git commit -m x",
        "cd /work/shop && git init && git commit -m x",
        "git clone https://a.b/c/demo.git && git commit -m x",
        "git worktree add -b tea ../tea && cd ../tea && git commit -m x",
        "cd /work/shop-tea && git commit -m x",
    ],
)
def test_a_command_in_the_project_breaks_its_rules_in_any_folder(text: str) -> None:
    act = replace(call(text, ROOT), others=("/work/shop-tea",))
    assert judge(COMMITS, act, Work()) is BROKEN


def test_a_shell_that_is_elsewhere_may_come_back() -> None:
    act = replace(call("git commit -m x", ROOT), folder="/work/x/y")
    assert judge(COMMITS, act, Work()) is None
    act = replace(call("cd ../../shop && git commit -m x", ROOT), folder="/work/x/y")
    assert judge(COMMITS, act, Work()) is BROKEN


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("make -C /tmp/x deploy", None),
        ("make --directory=/tmp/x deploy", None),
        ("make -C ops deploy", BROKEN),
        ("cd /tmp/x; make -C /work/shop deploy", BROKEN),
    ],
)
def test_make_may_work_elsewhere(text: str, verdict: Verdict | None) -> None:
    assert judge(Pattern((CallForm(("make", "deploy")),)), call(text, ROOT), Work()) is verdict


def test_without_a_root_nothing_is_elsewhere() -> None:
    assert judge(COMMITS, call("cd /tmp/x && git commit -m x"), Work()) is BROKEN


def test_folders_of_windows_have_other_slashes() -> None:
    root = "C:\\work\\shop"
    assert judge(COMMITS, replace(call("cd web && git commit -m x", root), folder="C:\\work\\shop"), Work()) is BROKEN
    assert judge(COMMITS, replace(call("git commit -m x", root), folder="C:\\work\\tea"), Work()) is None
