"""What a shell text runs is read as the shell would run it, and what it only mentions is not."""

import json
import time
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.model.rule import CallForm
from learning_memory_server.rules.patterns.matching import matches
from learning_memory_server.shell.folders import UNKNOWN
from learning_memory_server.shell.parser import READ_MAX
from learning_memory_server.shell.script import Command, read
from learning_memory_server.shell.shortening import LONG_MAX, shortened

SPELLINGS: Final = json.loads(Path(__file__).with_name("spellings.json").read_text("utf-8"))
PUSH: Final = "git push"


def runs(text: str, call: str) -> bool:
    return any(matches(CallForm(tuple(call.split())), each) for each in read(text).commands)


def words(text: str) -> list[str]:
    return [" ".join(each.words) for each in read(text).commands]


def last(text: str) -> Command:
    return read(text).commands[-1]


@pytest.mark.parametrize(
    ("call", "text", "is_run"),
    [
        (" ".join(each["words"]), text, kind == "runs")
        for each in SPELLINGS
        for kind in ("runs", "not")
        for text in each[kind]
    ],
)
def test_a_call_is_found_in_each_spelling_and_nowhere_else(call: str, text: str, is_run: bool) -> None:
    assert runs(text, call) is is_run


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (PUSH, 'set -x\ncd api || exit 1\ngit fetch -p\ngit push -u origin "$(git branch --show-current)"'),
        ("git push --force", 'git -c push.default=current -C "$PWD/app" push -vf'),
        ("git push --force", "git push origin +HEAD:main"),
        ("git commit --no-verify", "GIT_COMMITTER_DATE=now git commit --amend --no-edit -qn"),
        ("npm install", "cd web && npm ci && npm --workspace=api install zod@3 --save-exact"),
        ("rm -rf", 'for d in */; do [ -d "$d/dist" ] && rm -fR -- "$d/dist"; done'),
        ("kubectl delete", 'for ns in a b; do kubectl --namespace "$ns" --context=prod delete deploy/web & done; wait'),
        ("gh pr merge", 'gh --repo acme/app pr merge "$(gh pr view --json number -q .number)" --auto'),
        (PUSH, "flock -n /tmp/lock -c 'git push'"),
        (PUSH, "parallel -j2 git -C {} push ::: a b"),
        (PUSH, "sh <(printf 'git push\\n')"),
        (PUSH, "bash -c \"$(cat <<'EOF'\ncd x\ngit push origin HEAD\nEOF\n)\""),
        (PUSH, "cat > x.sh <<'EOF'\n#!/bin/sh\ngit push\nEOF\nchmod +x x.sh && ./x.sh"),
        (PUSH, "CALL='git -C x push'; $CALL"),
        (PUSH, "trap 'git push' EXIT"),
        (PUSH, "case $1 in a) git push;; esac"),
        (PUSH, "until git push; do sleep 1; done"),
        (PUSH, "! git push"),
        (PUSH, "(( $(git push | wc -l) ))"),
        (PUSH, "cat <<EOF | bash\ngit push\nEOF"),
        (PUSH, "ssh h <<EOF\ngit push\nEOF"),
        (PUSH, "su - bob -c 'git push'"),
        (PUSH, "coproc git push"),
        ("terraform apply", "terraform -chdir=prod apply -auto-approve -var-file x.tfvars"),
        ("docker compose down", "sudo -u root -- docker --context prod compose -f a.yml --profile x down -v"),
        ("pip install", "VIRTUAL_ENV=.venv python3.12 -m pip --quiet install -r requirements.txt"),
        ("npm publish", 'if ! npm whoami; then exit 1; fi; [[ -n $TAG ]] && npm publish --tag "$TAG"'),
        ("make deploy", "make -j$(nproc) -C ops test deploy ENV=prod"),
        ("git reset --hard", "git stash && { git fetch; git reset --hard origin/main || exit 1; }"),
        ("kill -9", "lsof -ti:3000 | xargs -r kill -9"),
        ("git checkout", "call='git checkout main'; eval $call"),
        ("sudo", "echo pw | sudo -S apt-get update"),
        ("npx", "npx eslint ."),
        ("npm test", "npm run test"),
    ],
)
def test_what_runs_is_found(call: str, text: str) -> None:
    assert runs(text, call)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (PUSH, "git log origin/main..HEAD | grep 'git push' && echo \"git push pending\""),
        ("git push --force", "git push -o ci.skip --no-verify origin main # --force"),
        ("git push --force", "git push -o --force"),
        ("git push -f", "git push -o -f"),
        ("rm -rf", "cat <<'MAKE' >> Makefile\nclean:\n\trm -rf build\nMAKE\ngit diff -- Makefile"),
        (PUSH, "python3 - <<'EOF'\nprint('''\ngit push\n''')\nEOF"),
        (PUSH, "printf 'git push' | pbcopy; history | grep 'git push'"),
        ("terraform apply", "terraform plan -out apply && terraform show apply"),
        ("docker compose down", "docker compose run --rm web down; docker compose logs down"),
        ("pip install", "uv pip install ruff; pipx install black; pip show install"),
        ("make deploy", "make -C deploy test"),
        ("git reset --hard", "git reset --soft HEAD~1 && git commit -m 'instead of git reset --hard'"),
        ("kill -9", "pkill -9f server; echo kill -9"),
        ("git checkout", "call='git checkout main'; echo \"$call\"; read -r call < todo"),
        ("pytest", "npx pytest-watch; pip install -U pytest; which pytest"),
        (PUSH, "command -v git push"),
        (PUSH, "cat > x.py <<'EOF'\n#!/usr/bin/python3\ngit push\nEOF\n./x.py"),
        ("find -e", "find . -name e"),
    ],
)
def test_what_is_only_mentioned_is_not_run(call: str, text: str) -> None:
    assert not runs(text, call)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("git commit -m 'feat: x' -m body", "feat: x\n\nbody"),
        ('git commit -am"it\'s"', "it's"),
        ("git commit --message=$'a\\tb\\x41\\u00e9\\101'", "a\tbA\u00e9A"),
        ("git commit -m x --trailer 'Co-Authored-By: B'", "x\n\nCo-Authored-By: B"),
        ('git commit -m "$(cat <<\'EOF\'\na "b" \\$c\nEOF\n)"', 'a "b" \\$c'),
        ('git commit -m "$(cat <<EOF\na \\$c\nEOF\n)"', "a $c"),
        ("git commit -F - <<-EOF\n\ta\nEOF", "a\n"),
        ("echo 'fix: a' | git commit -F -", "fix: a"),
        ("git commit -F - <<< 'fix: a'", "fix: a"),
        ("cat > /tmp/m <<EOF\nfix: y\nEOF\ngit commit -F /tmp/m", "fix: y\n"),
        ("M='fix: y'; git commit -m \"$M\"", "fix: y"),
        ("gh pr create -b body --title T", "T|body"),
        ("gh pr create --title T --body-file - <<EOF\nb\nEOF", "T|b\n"),
        ("gh release create v1 --notes n", "n"),
        ("git commit --amend --no-edit", ""),
        ("git commit -F msg.txt", ""),
        ("git log -m x", ""),
    ],
)
def test_a_message_is_found_wherever_it_is_given(text: str, found: str) -> None:
    assert "|".join(said for each in read(text).commands for said in each.texts) == found


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("echo x > a >> b 2> c 2>&1 >| d", "a b c d"),
        ("make &> log < in", "log"),
        ("echo x > /dev/null", ""),
        ("echo x | sudo tee -a a b", "a b"),
        ("sed -i s/a/b/ x y", "x y"),
        ("sed -n -i.bak -e s/a/b/ x", "x"),
        ("sed s/a/b/ x", ""),
        ("rm -rf a b/", "a b/"),
        ("mv a b", "a b"),
        ("mv a b c/", "a b c/ c/a c/b"),
        ("cp x/a y/", "y/ y/a"),
        ("cp a b", "b"),
        ("cp -t d a b", "d/ d/a d/b"),
        ("git rm a && git mv b c", "b c"),
        ("cd web && rm x", "web/x"),
        ("(cd web; ls); rm x", "x"),
        ("cat > a <<EOF\nx\nEOF", "a"),
        ("cat <<EOF > a\nx\nEOF", "a"),
        ("ssh h 'rm x'", "/elsewhere/x"),
        ("ls > a | wc > b", "b"),
    ],
)
def test_the_files_that_a_command_writes(text: str, files: str) -> None:
    assert " ".join(last(text).writes) == files


@pytest.mark.parametrize(
    ("text", "chains"),
    [
        ("a && b && c", ["a b c"]),
        ("a; b\nc & d", ["a", "b", "c", "d"]),
        ("a || b && c", ["a", "b c"]),
        ("a || exit 1\nb", ["a exit 1 b"]),
        ("set -e\na\nb", ["set -e a b"]),
        ("(a; b) && c", ["a", "b c"]),
        ("if a; then b; else c; fi; d", ["a b", "c", "d"]),
        ("a | b && c", ["a b c"]),
    ],
)
def test_which_commands_run_only_if_those_before_have_succeeded(text: str, chains: list[str]) -> None:
    found: dict[int, list[str]] = {}
    for each in read(text).commands:
        found.setdefault(each.chain, []).append(" ".join(each.words))
    assert [" ".join(each) for each in found.values()] == chains


def test_a_command_that_runs_another_stands_before_it() -> None:
    assert words("sudo -u x env A=1 docker compose exec web bash -lc 'cd a && git push'")[-3:] == [
        "bash -lc cd a && git push",
        "cd a",
        "git push",
    ]
    assert words("find . -exec git push {} \\; -exec rm {} +")[1:] == ["git push {}", "rm {}"]


LINE: Final = 'Lorem ipsum "dolor" sit, it\'s amet: git push now\n'


@pytest.mark.parametrize("times", [100, 300, 1000])
@pytest.mark.parametrize(
    "before",
    [
        "git commit -F - <<'EOF'\n{text}EOF\n",
        "git commit -m \"$(cat <<'EOF'\n{text}EOF\n)\" && ",
        "python -c '{single}'\n",
        'gh pr create --body "{double}" && ',
        "{files}",
    ],
)
def test_what_stands_behind_a_long_text_is_read(before: str, times: int) -> None:
    text = before.format(
        text=LINE * times,
        single=LINE.replace("'", "") * times,
        double=LINE.replace('"', '\\"') * times,
        files="".join(f"cat > f{at} <<'EOF'\n{LINE * 3}EOF\n" for at in range(times // 4)),
    )
    start = time.perf_counter()
    assert "git push" in words(f"{text}git push")
    assert "git push" not in words(f"{text}git status")
    assert time.perf_counter() - start < 1


def test_a_text_that_may_have_moved_in_its_middle_is_anywhere() -> None:
    lines = "echo a && ls\n" * 2_000
    assert read(f"{lines}git push").commands[-1].folder == ""
    assert read(f"{lines}cd x\n{lines}git push").commands[-1].folder == UNKNOWN


@pytest.mark.parametrize("unit", ['"', "'", "<<a\n", '"$(cat <<a\n', "\\", "$(", "`", "#", "\n", "<<A\nA\n", "'x' "])
def test_no_text_is_long_in_being_shortened(unit: str) -> None:
    start = time.perf_counter()
    shortened(unit * LONG_MAX, READ_MAX)
    assert time.perf_counter() - start < 0.5


def test_a_heredoc_without_an_end_is_no_list_of_commands() -> None:
    assert words("cat > a <<'EOF'\ngit push\n" + "x\n" * READ_MAX) == ["cat"]
    assert words("bash <<EOF && ls\ngit push") == ["bash", "git push", "ls"]


@pytest.mark.parametrize(
    "unit",
    [
        *("(", "{", "[", "$(", '"$(', "`", "((", "[[", "<(", "${", "<<", "f() {", "if ", '"', "a&&", '"${', "$(("),
        *("$(echo ", '"$(echo ', "bash -c ", "eval ", "sudo ", "x=$(echo $x)", "a >b ", "find -exec "),
    ],
)
@pytest.mark.slow
def test_nothing_nests_too_deep_or_takes_long(unit: str) -> None:
    start = time.perf_counter()
    read((unit * READ_MAX)[:READ_MAX])
    assert time.perf_counter() - start < 3


TOKENS: Final = st.sampled_from(
    [
        *("git", "push", "-m", "--", "-", "=", "x=", "$x", "${x}", "'", '"', "`", "$(", ")", "(", "{", "}", "<<EOF"),
        *("\nEOF\n", "\n", ";", "|", "&&", "||", ">", "<(", "<<<", "bash -c", "eval", "echo", "find", "-exec", "\\"),
        *("sudo", "env", "xargs", "ssh", "trap", "sed -i", "mv", "cd", "if", "then", "fi", "f()", "+", "python -m"),
        *("$'\\", "\ud800", "é", "cat", "docker exec", "source", "for", "do", "done", "git commit -F -", "printf %s"),
    ]
)


@given(st.one_of(st.text(), st.lists(TOKENS).map(" ".join), st.lists(TOKENS).map("".join)))
def test_nothing_raises(text: str) -> None:
    found: Any = read(text)
    assert all(each.words for each in found.commands)


@pytest.mark.parametrize("rare", ["\U000c5a50", "\N{GRINNING FACE}", "\U0010ffff"])
def test_a_character_beyond_the_basic_plane_does_not_end_the_process(rare: str) -> None:
    # The parser's own table does not have it.
    for text in (f"{{{rare}", f"a{{{rare},b", f"${rare}", f"x[{rare}]=1", f"cat <<{rare}"):
        read(text)
    (command,) = read(f"git commit -m 'Mend {rare} \ue000' > {rare}").commands
    assert command.words[-1] == f"Mend {rare} \ue000"
    assert (command.texts, command.writes) == ((f"Mend {rare} \ue000",), (rare,))


def test_words_behind_a_redirection_are_the_command_s() -> None:
    assert runs("git push 2>&1 --force", "git push --force")
    assert last("git push origin > log main --force").words == ("git", "push", "origin", "main", "--force")
    assert last("git push origin > log main --force").writes == ("log",)
    assert last("> log make all 2>/dev/null").words == ("make", "all")
