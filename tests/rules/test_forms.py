"""The commonest forms of rules become patterns that stop nothing else; other sentences become none."""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from time import perf_counter
from typing import Any, Final

import pytest

from learning_memory_server.model.rule import CallForm, MessageForm, Pattern, When
from learning_memory_server.rules.forms.table import Formed, form_of, in_words
from learning_memory_server.rules.patterns.matching import Act, Verdict, Work, judge, judge_end
from learning_memory_server.shell.script import read

FOLDER: Final = Path(__file__).parent
CASES: Final = json.loads((FOLDER / "forms.json").read_text("utf-8"))
"""Sixty rules with calls that break them and calls that do not, and sixty sentences that are no rules."""
SENTENCES: Final = json.loads((FOLDER / "sentences.json").read_text("utf-8"))
"""Sentences with what is made of them, and sentences of which nothing is made."""
LOOKS: Final = json.loads((FOLDER / "looks.json").read_text("utf-8"))
"""Rules with calls that break them, and calls that have their words and break nothing."""
LEAST: Final = {"dev": 177, "test": 168}
"""How many of 180 cases are judged as they should be. Of the second set, 131 were before its sentences were read."""


def _files(path: str) -> Iterator[str]:
    """Yield a file relative to each folder above it: the cases do not say which is the project's."""
    parts = PurePosixPath(path).parts
    yield from ("/".join(parts[at:]) for at in range(1, len(parts)))


def _is_broken(formed: Formed, case: dict[str, Any] | list[dict[str, Any]]) -> bool:
    work, found = Work(), list[Verdict | None]()
    for call in case if isinstance(case, list) else [case]:
        tool, given = call["tool"], call["input"]
        if tool == "Bash":
            script = read(given["command"])
            found.append(judge(formed.pattern, Act(script), work))
            work.ran(script)
        elif tool == "Stop":
            found += [judge_end(formed.pattern, work)] if formed.when is When.DONE else []
        else:
            content = given.get("new_string", given.get("content", ""))
            acts = (Act(None, each, content, given.get("old_string", "")) for each in _files(given["file_path"]))
            found += [judge(formed.pattern, act, work) for act in acts]
            work.edited(given["file_path"])
    return Verdict.BROKEN in found


@pytest.mark.parametrize("rule", [pytest.param(each, id=each["rule"][:60]) for each in CASES["rules"]])
def test_no_call_that_keeps_to_a_rule_is_stopped(rule: dict[str, Any]) -> None:
    formed = form_of(rule["rule"])
    assert [each for each in rule["keeps"] if formed and _is_broken(formed, each)] == []


@pytest.mark.parametrize("name", LEAST)
def test_calls_that_break_rules_are_found(name: str) -> None:
    right = 0
    for rule in (each for each in CASES["rules"] if each["set"] == name):
        formed = form_of(rule["rule"])
        right += sum(bool(formed and _is_broken(formed, each)) for each in rule["breaks"])
        right += sum(not (formed and _is_broken(formed, each)) for each in rule["keeps"])
    assert right >= LEAST[name]


@pytest.mark.parametrize(
    ("sentence", "text", "is_broken"),
    [(each["rule"], text, name == "breaks") for each in LOOKS for name in ("breaks", "keeps") for text in each[name]],
)
def test_a_call_that_only_looks_or_means_something_else_breaks_nothing(
    sentence: str, text: str, is_broken: bool
) -> None:
    formed = form_of(sentence)
    assert formed
    act = Act(read(text), root="/p", folder="/p")
    assert (judge(formed.pattern, act, Work()) is Verdict.BROKEN) is is_broken


@pytest.mark.parametrize("sentence", CASES["not_rules"])
def test_a_sentence_that_is_no_rule_has_no_pattern(sentence: str) -> None:
    assert form_of(sentence) is None


@pytest.mark.parametrize("sentence", SENTENCES["silent"])
def test_a_rule_that_no_machine_sees_has_no_pattern(sentence: str) -> None:
    assert form_of(sentence) is None


@pytest.mark.parametrize(("sentence", "words"), SENTENCES["taken"].items())
def test_a_rule_of_a_common_form_has_a_pattern_that_a_person_can_read(sentence: str, words: str) -> None:
    formed = form_of(sentence)
    assert formed is not None
    assert f"{formed.when.value}: {in_words(formed.pattern, formed.when)}" == words


def test_marks_and_reasons_change_nothing() -> None:
    plain = form_of("Never force push")
    for text in (
        "- **NEVER** force push!",
        "* IMPORTANT: never force push",
        "1. Never force-push — it has cost us a day",
        "> Never force push, because others have the branch",
        "\u26a0\ufe0f Never force push.",
    ):
        assert form_of(text) == plain


@pytest.mark.parametrize("text", ["## Never force push", "Never force push?", "| never | force push |", "", "   ", "`"])
def test_headings_questions_and_rows_of_tables_are_no_sentences(text: str) -> None:
    assert form_of(text) is None


def test_a_text_too_long_to_be_a_rule_is_not_read() -> None:
    assert form_of("Never force push. " * 100) is None


@pytest.mark.parametrize(
    ("prompt", "verdict"),
    [
        ("fix the parser", Verdict.BROKEN),
        ("do not push yet", Verdict.BROKEN),
        ("fix the parser and push it", Verdict.FOLLOWED),
        ("open a PR", Verdict.FOLLOWED),
        ("yes, please", Verdict.FOLLOWED),
        ("커밋하고 푸시해줘", Verdict.FOLLOWED),
        ("请推送", Verdict.FOLLOWED),
    ],
)
def test_what_the_person_asks_for_in_this_turn_breaks_no_rule_about_asking(prompt: str, verdict: Verdict) -> None:
    formed = form_of("Never push unless I ask you to.")
    assert formed
    assert judge(formed.pattern, Act(read("git push")), Work(prompt)) is verdict


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("git checkout main && git commit -m x", Verdict.BROKEN),
        ("git switch main; git merge feature && git push", Verdict.BROKEN),
        ("git checkout main && git push origin HEAD", Verdict.BROKEN),
        ("git checkout main && git pull && git checkout -b fix && git commit -m x", Verdict.FOLLOWED),
        ("git checkout main && cd ../other && git commit -m x", Verdict.FOLLOWED),
        ("git checkout main && git -C ../other commit -m x", Verdict.FOLLOWED),
        ("git checkout main && git push origin feature", Verdict.FOLLOWED),
        ("git checkout main && git push --tags", Verdict.FOLLOWED),
        ("git checkout main -- README.md && git commit -m x", Verdict.FOLLOWED),
        ("git checkout main && gh pr checkout 12 && git commit -m x", Verdict.FOLLOWED),
        ("git push", Verdict.FOLLOWED),
    ],
)
def test_a_branch_that_the_text_has_switched_to_is_known(command: str, verdict: Verdict) -> None:
    formed = form_of("Never commit or push directly to main.")
    assert formed
    assert judge(formed.pattern, Act(read(command)), Work()) is verdict


def test_checks_by_name_are_run_by_whatever_a_project_runs_them_with() -> None:
    formed = form_of("Run the tests before committing.")
    assert formed
    for command in ("make check", "npm run test:unit", "pytest -q", "./gradlew build", "bash scripts/run-tests.sh"):
        work = Work()
        work.edited("src/a.py")
        work.ran(read("grep -rn test . ; git add tests"))
        assert judge(formed.pattern, Act(read("git commit -m x")), work) is Verdict.BROKEN
        work.ran(read(command))
        assert judge(formed.pattern, Act(read("git commit -m x")), work) is Verdict.FOLLOWED


def test_an_edit_of_a_text_for_people_asks_for_no_tests() -> None:
    formed = form_of("Run `npm test` before every commit.")
    assert formed
    work = Work()
    work.edited("README.md")
    assert judge(formed.pattern, Act(read("git commit -m x")), work) is Verdict.FOLLOWED


PUSH: Final = CallForm(("git", "push"))
COMMIT: Final = CallForm(("git", "commit"))


@pytest.mark.parametrize(
    ("pattern", "when", "words"),
    [
        (Pattern((PUSH,), asked=("push",)), When.CALL, "before `git push`, unless you ask for it in the same turn"),
        (Pattern((COMMIT,), texts=("A", "B")), When.CALL, 'before `git commit` whose message has "A" or "B"'),
        (
            Pattern((COMMIT,), form=MessageForm.ONE_LINE),
            When.CALL,
            "before `git commit` whose message has more than one line",
        ),
        (Pattern((CallForm(("npm",)), CallForm(("npx",)))), When.CALL, "before `npm`, `npx`"),
        (Pattern((CallForm((), ("--force",)),)), When.CALL, "before any command with `--force`"),
        (Pattern((CallForm(("gh",), (), ("--web",)),)), When.CALL, "before `gh` without `--web`"),
        (Pattern(files=("dist/**",)), When.FILE, "before an edit of `dist/**`"),
        (Pattern(contents=("x",)), When.FILE, "before an edit that adds `x`"),
        (Pattern(files=("a.py",), contents=("x",)), When.FILE, "before an edit of `a.py` that adds `x`"),
        (Pattern((PUSH,), files=("a",)), When.CALL, "before `git push` or an edit of `a`"),
        (
            Pattern(first=(CallForm(("make", "test")),)),
            When.DONE,
            "at the end of work, if `make test` has not run since the last edit",
        ),
        (
            Pattern((COMMIT,), first=(CallForm(("a",)), CallForm((), ("b",)))),
            When.CALL,
            "before `git commit`, if `a` and a command with `b` have not all run since the last edit",
        ),
        (Pattern(), When.DONE, ""),
    ],
)
def test_a_pattern_is_said_in_plain_words(pattern: Pattern, when: When, words: str) -> None:
    assert in_words(pattern, when) == words


def test_long_lists_are_cut() -> None:
    words = in_words(Pattern(files=tuple("abcdefghij")), When.FILE)
    assert words == "before an edit of `a`, `b`, `c`, `d`, `e`, `f`, `g` or 3 more"


@pytest.mark.parametrize(
    "text",
    ["never push to" + " main" * 140 + " x", "never" + " ," * 280, "no " + "(" * 590, "do not push" + " or" * 190],
)
def test_no_sentence_takes_long(text: str) -> None:
    start = perf_counter()
    form_of(text)
    assert perf_counter() - start < 1


@pytest.mark.parametrize(
    ("sentence", "calls", "verdict"),
    [
        (
            "Use `git status --short`, not `git status`",
            "git status --short | git status -s | git status -sb",
            "followed",
        ),
        ("Use `git status --short`, not `git status`", "git status | git status -b", "broken"),
        ("Always use `git --no-pager log`, not `git log`", "git --no-pager log -3 | git -P log", "followed"),
        ("Always use `git --no-pager log`, not `git log`", "git log -3", "broken"),
        ("Use `npm run test:unit` not `npm run test`", "npm run test:unit", "followed"),
        ("Use `npm run test:unit` not `npm run test`", "npm test | npm run test", "broken"),
        ("Use `docker compose -f x up` not `docker compose up`", "docker compose -f x up -d", "followed"),
        ("Use `docker compose -f x up` not `docker compose up`", "docker compose --file x up", "followed"),
        ("Use `docker compose -f x up` not `docker compose up`", "docker compose up", "broken"),
        ("Use `pytest -n 2` not `pytest`", "pytest -n 2 | pytest -n2 a | python -m pytest -n 2", "followed"),
        ("Use `pytest -n 2` not `pytest`", "pytest | python -m pytest -x", "broken"),
        ("Use `git commit -s`, not `git commit`", "git commit -sm x | git commit --signoff -m x", "followed"),
        ("Use `git commit -s`, not `git commit`", "git commit -m x", "broken"),
        ("Use `npm run lint -- --fix`, not `npm run lint`", "npm run lint -- --fix", "followed"),
        ("Use `make test lint`, not `make test`", "make test lint | make lint test", "followed"),
        ("Never run `tsc`, run `tsc --noEmit`", "npx tsc --noEmit", "followed"),
        ("Never use `sed -i`", "sed -i.bak s/a/b/ x | sed --in-place s/a/b/ x", "broken"),
        ("Never use `sed -i`", "sed -n 1p x", "followed"),
        ("Never run `docker run -i`", "docker run -it x | docker run --interactive x", "broken"),
    ],
)
def test_a_wanted_command_that_has_the_words_of_the_forbidden_one_is_allowed(
    sentence: str, calls: str, verdict: str
) -> None:
    formed = form_of(sentence)
    assert formed
    for call in calls.split(" | "):
        assert judge(formed.pattern, Act(read(call)), Work()) == verdict, call


@pytest.mark.parametrize(
    "form", ["Use `{}`, not `{}`", "Always use `{}` instead of `{}`.", "Run `{}`. Never run `{}`."]
)
@pytest.mark.parametrize("command", ["git log", "npm run test", "pytest", "make test", "./gradlew test", "docker run"])
def test_what_a_sentence_wants_is_never_forbidden_by_it(command: str, form: str) -> None:
    program, _, rest = command.partition(" ")
    for more in ("--short", "-s", "-n 2", "--a=b", "-C web", "-rf", "-- --fix", "lint", "-5", "-f a.yml", "&& ls"):
        for wanted in (
            f"{command} {more}",
            f"{program} {more} {rest}".strip(),
            f"time {command}",
            f"cd a && {command}",
        ):
            formed = form_of(form.format(wanted, command))
            assert not formed or judge(formed.pattern, Act(read(wanted)), Work()) is not Verdict.BROKEN, wanted


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("We use pnpm in web/, not npm.", "web"),
        ("Use pnpm, not npm, in web/.", "web"),
        ("In `web/`, use pnpm instead of npm", "web"),
        ("- In `web/` use yarn instead of npm.", "web"),
        ("In the web folder, never run `npm`.", "web"),
        ("Use uv in `services/api`, not pip", "services/api"),
        ("Never run `git push` in ./vendor/lib/", "vendor/lib"),
        ("Use pnpm in packages/ui, not npm", "packages/ui"),
        ("Use uv in `pyproject.toml`, not pip", ""),
        ("We use pnpm, not npm.", ""),
        ("Run `make test` in api/ before every commit", ""),
        ("Never edit files in dist/", ""),
    ],
)
def test_a_sentence_that_names_a_folder_is_about_that_folder_alone(text: str, folder: str) -> None:
    formed = form_of(text)
    assert formed
    assert formed.folder == folder


@pytest.mark.parametrize("text", ["We use pnpm in web/ and api/, not npm.", "Never use npm except in web/."])
def test_a_sentence_about_several_folders_denies_no_call(text: str) -> None:
    assert form_of(text) is None
