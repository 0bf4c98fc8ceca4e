"""The report about past sessions says how often rules were broken, what fails, and what a person refused."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.lessons.errors.transcripts import Passed, beginning_of
from learning_memory_server.model.rule import Origin, OriginKind, Rule, RuleState, new_rule_id
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.rules.past.report import Line, LineKind, PastReport, past_report
from learning_memory_server.rules.past.sessions import Transcript
from learning_memory_server.rules.suggesting.sources import Sources
from tests.lessons.errors.written import Call, failed, ran, refused, write_transcript
from tests.sharing.repositories import git
from tests.support import NOON

HERE = "acme/shop"
UNKNOWN = "Exit code 2\nerror: unrecognized subcommand 'brew'"
COMMIT = "git commit -m \"$(cat <<'EOF'\nAdd tea\n\nCo-Authored-By: Claude <noreply@anthropic.com>\nEOF\n)\""


class Past:
    """A project, its folder, and the sessions in it."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self.client = tmp_path / "shop", tmp_path / "client"
        self.folder.mkdir()
        self.projects = self.client / "projects" / "-work-shop"
        self.sessions = 0

    def say(self, text: str) -> None:
        (self.folder / "CLAUDE.md").write_text(text, "utf-8")

    def session(self, *calls: Call, folder: Path | None = None, **more: Any) -> Path:
        self.sessions += 1
        name = more.setdefault("session", f"session{self.sessions}")
        more.setdefault("hour", self.sessions * 24)
        return write_transcript((folder or self.projects) / f"{name}.jsonl", *calls, **more)

    async def report(self, folder: Path | None = None, **more: Any) -> PastReport:
        paths = sorted((folder or self.projects).glob("*.jsonl"))
        found = [Transcript(path, beginning_of(path, Passed()), HERE) for path in paths]
        environment = {"CLAUDE_CONFIG_DIR": str(self.client)}
        given: dict[str, Any] = {"gate": RedactionGate(), "environment": environment, "now": NOON}
        given |= {name: more.pop(name) for name in ("gate", "now", "rules", "memories") if name in more}
        return await past_report(Sources(HERE, self.folder, **given), found, **more)


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def edited(file: str, new: str = "tea", **more: Any) -> Call:
    return ran("", tool="Edit", input={"file_path": f"/work/shop/{file}", "old_string": "", "new_string": new}, **more)


def only(report: PastReport) -> Line:
    assert len(report.lines) == 1, report.lines
    return report.lines[0]


def prompted(path: Path, text: str, **more: Any) -> None:
    """Add a prompt to a transcript."""
    line = {"type": "user", "sessionId": path.stem, "cwd": "/work/shop", "timestamp": "2026-01-07T09:00:00Z"}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "message": {"role": "user", "content": text}, **more}) + "\n")


async def test_a_rule_that_was_broken_is_a_line_with_its_file_its_figures_and_its_day(past: Past) -> None:
    past.say("# Commits\n\n- Never add a Co-Authored-By trailer for Claude to commits.\n")
    past.session(ran(COMMIT), ran("git commit -m 'Add bread'"))
    past.session(ran(COMMIT), ran("git status"))
    line = only(report := await past.report())
    assert (line.kind, line.label) == (LineKind.RULE, "CLAUDE.md")
    assert line.text == (
        '"Never add a Co-Authored-By trailer for Claude to commits."  broken in 2 of 3 commits, last 7 Jan'
    )
    assert line.offered
    assert line.offered.suggestion.origin == Origin(OriginKind.FILE, "CLAUDE.md")
    assert (line.past.sessions, line.past.matched, len(line.past.days)) == (2, 3, 2)
    assert line.past.call.startswith("git commit -m")
    assert (report.sessions, report.calls, report.commands, report.failed) == (2, 4, 4, 0)
    assert str(report.first) == "2026-01-06"
    assert str(report.last) == "2026-01-07"


async def test_a_rule_cannot_be_broken_before_it_was_written_down(past: Past) -> None:
    git(past.folder, "init", "-q")
    past.say("Never add a Co-Authored-By trailer for Claude to commits.")
    git(past.folder, "add", "CLAUDE.md")
    past.session(ran(COMMIT))  # On 6 January
    past.session(ran(COMMIT))  # On 7 January
    git(past.folder, "commit", "-qm", "Say how to commit", "--date", "2026-01-07T00:00:00Z")
    assert "broken in 1 of 1 commit, last 7 Jan" in only(await past.report()).text


async def test_a_rule_that_holds_is_no_line_but_a_suggestion(past: Past) -> None:
    past.say("Never force push. Always be kind. Tea is green.")
    past.session(ran("git push"))
    report = await past.report()
    assert report.lines == ()
    assert [(each.suggestion.text, each.past is None) for each in report.suggestions] == [
        ("Never force push.", False),
        ("Always be kind.", True),
    ]


async def test_a_commit_that_failed_or_was_refused_broke_nothing(past: Past) -> None:
    past.say("Never add a Co-Authored-By trailer for Claude to commits.")
    past.session(failed(COMMIT, "Exit code 1\nhook failed"), refused(COMMIT, "no"), ran(COMMIT))
    report = await past.report()
    line = next(line for line in report.lines if line.kind is LineKind.RULE)
    assert (line.past.broken, line.past.refused) == (1, 1)


async def test_a_session_that_was_continued_in_another_file_counts_once(past: Past) -> None:
    past.say("Never add a Co-Authored-By trailer for Claude to commits.")
    path = past.session(ran(COMMIT))
    past.projects.joinpath("copy.jsonl").write_text(path.read_text("utf-8"), "utf-8")
    assert "broken in 1 of 1 commit" in only(await past.report()).text


async def test_what_the_prompt_of_the_turn_asks_for_breaks_nothing(past: Past) -> None:
    past.say("Never push without asking me first.")
    past.session(ran("git push"), prompt="Push it")
    assert (await past.report()).lines == ()
    past.session(ran("git push"), prompt="Add tea")
    assert "broken in 1 of 2 pushes" in only(await past.report()).text


async def test_work_that_ends_without_what_had_to_run_is_counted_for_each_turn_with_edits(past: Past) -> None:
    past.say("Run the tests before you say that you are done.")
    past.session(edited("tea.py"), ran("make test"))
    path = past.session(ran("make test"), edited("tea.py"))
    assert "broken in 1 of 2 ends of work" in only(await past.report()).text
    prompted(path, "Thanks")
    assert "broken in 1 of 2 ends of work" in only(await past.report()).text


async def test_a_document_is_no_code(past: Past) -> None:
    past.say("Run the tests before you say that you are done.")
    past.session(ran("make test"), edited("CHANGELOG.md"), edited("docs/tea.md"))
    past.session(edited("tea.py"), ran("make test"), edited("README.md"))
    report = await past.report()
    assert report.lines == ()
    assert [(each.past.broken, each.past.followed) for each in report.suggestions if each.past] == [(0, 1)]


async def test_a_turn_that_the_person_interrupted_was_not_ended_by_the_agent(past: Past) -> None:
    past.say("Run the tests before you say that you are done.")
    prompted(past.session(edited("tea.py")), "[Request interrupted by user]")
    assert (await past.report()).lines == ()


async def test_an_edit_of_a_file_is_counted_also_in_a_worktree_and_by_the_shell(past: Past) -> None:
    past.say("Never edit files in `dist/`.")
    past.session(
        edited("dist/tea.js"), edited(".worktrees/a/dist/tea.js"), edited("src/tea.js"), ran("echo x > dist/a")
    )
    past.session(edited("../other/dist/tea.js"), edited("dist/tea.js", is_error=True))
    line = only(await past.report())
    assert line.past.broken == 3


async def test_a_command_that_fails_again_is_a_line_with_what_followed(past: Past) -> None:
    for _ in range(3):
        past.session(failed("tea brew pot", UNKNOWN), ran("brew pot"))
    line = only(await past.report())
    assert (line.kind, line.label) == (LineKind.FAILURE, "3 sessions")
    assert "unrecognized subcommand 'brew'; `brew pot` worked next in 3/3" in line.text
    assert line.offered
    assert line.offered.suggestion.text == "Use `brew pot`, not `tea brew pot`"
    assert (line.past.broken, line.past.followed) == (3, 3)
    assert line.figures


async def test_a_command_that_mostly_works_is_no_rule(past: Past) -> None:
    for _ in range(2):
        past.session(failed("tea brew pot", UNKNOWN), ran("brew pot"), *(ran("tea brew pot") for _ in range(2)))
    assert only(await past.report()).offered is None


async def test_words_of_a_refused_call_are_a_line(past: Past) -> None:
    past.session(refused("git commit -m x", "never commit for me"), refused("rm -r tea", "why?"))
    report = await past.report()
    line = only(report)
    assert (line.kind, line.label) == (LineKind.REFUSAL, "you refused")
    assert line.text.startswith('"never commit for me" (6 Jan 2026, `git commit`')
    assert line.offered
    assert line.offered.suggestion.text == "never commit for me"
    assert report.refused == 2


async def test_refused_calls_count_in_the_clients_own_folder_only(past: Past, tmp_path: Path) -> None:
    past.session(refused("git commit -m x", "never commit for me"), folder=tmp_path / "sent")
    report = await past.report(tmp_path / "sent")
    assert (report.lines, report.suggestions, report.refused) == ((), (), 0)


async def test_calls_in_folders_of_others_are_left_out(past: Past) -> None:
    past.say("Never add a Co-Authored-By trailer for Claude to commits.")
    past.session(ran(COMMIT, record={"cwd": "/work/other"}), ran(COMMIT))
    report = await past.report(has_strayed=lambda folder, began: folder != began.folder)
    assert (report.commands, report.strayed) == (1, 1)
    assert "1 of 1 commit," in only(report).text


@pytest.mark.parametrize("state", list(RuleState))
async def test_what_was_answered_is_no_line(past: Past, state: RuleState) -> None:
    past.say("Never add a Co-Authored-By trailer for Claude to commits.")
    past.session(ran(COMMIT))
    for _ in range(2):
        past.session(failed("tea brew pot", UNKNOWN), ran("brew pot"))
    answers = [
        Rule(new_rule_id(), given.text, HERE, state, given.origin, NOON, NOON, given.when, given.pattern)
        for line in (await past.report()).lines
        if (given := line.offered and line.offered.suggestion)
    ]
    assert len(answers) == 2
    report = await past.report(rules=answers)
    assert (report.lines, report.suggestions) == ((), ())
    later = await past.report(rules=answers, now=NOON + timedelta(days=8))
    assert len(later.lines) == (2 if state is RuleState.POSTPONED else 0)


async def test_the_most_broken_come_first_and_refusals_last_in_twelve_lines(past: Past) -> None:
    past.say("Never force push.\n\nNever add a Co-Authored-By trailer for Claude to commits.")
    past.session(ran("git push --force"), refused("ls", "never look here"))
    past.session(*(ran(COMMIT) for _ in range(3)))
    for _ in range(2):
        past.session(failed("tea brew pot", UNKNOWN), ran("brew pot"))
    for number in range(20):
        for _ in range(2):
            past.session(failed(f"tea{number} brew pot", UNKNOWN.replace("brew", f"brew{number}x")))
    report = await past.report()
    assert len(report.lines) == 12
    assert [line.breaches for line in report.lines] == sorted((line.breaches for line in report.lines), reverse=True)
    assert "broken in 3 of 3 commits" in report.lines[0].text


async def test_a_rule_that_would_stop_many_of_the_last_calls_is_only_shown(past: Past) -> None:
    past.say("Use pnpm, not npm.")
    past.session(*(ran("npm install") for _ in range(51)), *(ran("ls") for _ in range(949)))
    assert (offered := only(await past.report()).offered)
    assert offered.is_only_shown
    past.session(*(ran("ls") for _ in range(2)))
    assert (offered := only(await past.report()).offered)
    assert not offered.is_only_shown


async def test_secrets_and_folders_are_not_in_the_last_call(past: Past) -> None:
    token = "ghp_" + "a1B2" * 9
    past.say("Use pnpm, not npm.")
    past.session(ran(f"npm install /work/shop/tea --token {token}"))
    line = only(await past.report(gate=RedactionGate(build_redactor())))
    assert token not in line.past.call
    assert "/work/shop" not in line.past.call


async def test_without_transcripts_there_are_the_suggestions_alone(past: Past) -> None:
    past.say("Use pnpm, not npm.")
    past.projects.mkdir(parents=True)
    report = await past.report()
    assert (report.lines, report.sessions, report.first) == ((), 0, None)
    assert [each.suggestion.text for each in report.suggestions] == ["Use pnpm, not npm."]


async def test_progress_is_told(past: Past) -> None:
    past.session(ran("ls"))
    past.session(ran("ls"))
    told: list[tuple[int, int]] = []
    await past.report(progress=lambda done, total: told.append((done, total)))
    assert len({total for _, total in told}) == 1
    assert told[0][0] == 0
    assert all(done <= total for done, total in told)


async def test_of_several_checks_the_line_says_which_had_not_run_and_how_often(past: Past) -> None:
    past.say("Always run `make lint`, `make types` and `make test` before every commit.")
    past.session(edited("a.py"), ran("make lint"), ran("make test"), ran("git commit -m a"))
    past.session(edited("a.py"), ran("make test && make lint && git commit -m b"))
    past.session(edited("a.py"), ran("make test types"), ran("git commit -m c"))
    past.session(edited("a.py"), ran("make lint types test && git commit -m d"))
    line = only(await past.report())
    assert "broken in 3 of 4 commits (missing: `make types` in 2, `make lint` in 1), last" in line.text


async def test_of_checks_at_the_end_of_work_the_line_says_which_had_not_run(past: Past) -> None:
    past.say("Run the tests and the linter before saying that you are done.")
    past.session(edited("a.py"), ran("pytest"))
    past.session(edited("a.py"), ran("flake8"))
    past.session(edited("a.py"))
    line = only(await past.report())
    assert "broken in 3 of 3 ends of work (missing: a linter in 2, a test run in 2)" in line.text


async def test_of_one_check_or_many_the_line_stays_short(past: Past) -> None:
    past.say("Run `make test` before every commit.")
    past.session(edited("a.py"), ran("git commit -m a"))
    assert "missing" not in only(await past.report()).text
    past.say("Always run `make a`, `make b`, `make c`, `make d`, `make e` before every commit.")
    assert "(missing: `make a` in 1, `make b` in 1, `make c` in 1 and 2 more)" in only(await past.report()).text


async def test_a_check_that_failed_in_a_pipe_has_not_run(past: Past) -> None:
    past.say("Run the tests before every commit.")
    past.session(edited("a.py"), ran("pytest | tail", "= 1 failed, 5 passed in 0.12s ="), ran("git commit -m a"))
    past.session(edited("a.py"), ran("pytest | tail", "= 6 passed in 0.12s ="), ran("git commit -m a"))
    past.session(edited("a.py"), ran("pytest | tail"), ran("git commit -m a"))
    assert "broken in 1 of 3 commits" in only(await past.report()).text
