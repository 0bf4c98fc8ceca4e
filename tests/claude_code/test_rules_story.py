"""The first half minute: what past sessions broke, a person's choice, and a new session that keeps to it."""

import pytest

from tests.claude_code.conftest import ClaudeCode
from tests.claude_code.model import Said, run, say
from tests.claude_code.story import BREAKS, FOLLOWS, NO_PUSH, NO_TRAILER, NOT_RUN, past, person, program, rules
from tests.claude_code.test_rules import later, repository
from tests.lessons.errors.written import failed, ran, refused
from tests.sharing.repositories import git

pytestmark = pytest.mark.slow

UNKNOWN = "Exit code 2\nerror: unrecognized subcommand 'brew'"
INSTEAD = "Use `brew pot`, not `tea brew pot`"


@pytest.fixture
def shop(claude: ClaudeCode) -> ClaudeCode:
    """A project whose file has a rule that each of three sessions broke; they saw a failing command and a refusal."""
    repository(claude.project)
    (claude.project / "CLAUDE.md").write_text(f"# Ours\n\n- {NO_TRAILER}\n", "utf-8")
    program(claude, "brew")
    usual = ran(BREAKS), ran(BREAKS), failed("tea brew pot", UNKNOWN), ran("brew pot")
    past(claude, usual, usual, (*usual, refused("git push", NO_PUSH)))
    return claude


def test_a_person_chooses_lines_of_the_report_and_the_next_session_keeps_to_them(shop: ClaudeCode) -> None:
    shown = person(shop, "report", typed=("1 2",))

    assert f'1 CLAUDE.md "{NO_TRAILER}" broken in 6 of 6 commits' in shown
    assert "2 3 sessions `tea brew pot`: unrecognized subcommand 'brew'; `brew pot` worked next in 3/3" in shown
    assert "2 rules kept" in shown

    script: list[Said] = [
        run(BREAKS),
        later(run(FOLLOWS)),
        later(run("tea brew pot")),
        later(run("brew pot")),
        say("All done."),
    ]
    session = shop.session("commit this", script)

    assert session.done.stdout == "All done.\n"
    denied, made, unknown, brewed = session.results()
    assert f'from CLAUDE.md (accepted {rules(shop)[NO_TRAILER].created_at:%-d %b}): "{NO_TRAILER}".' in denied
    assert f"{NOT_RUN} Change the call and go on." in denied
    assert "Mend it" in made
    assert f'"{INSTEAD}". {NOT_RUN}' in unknown
    assert brewed == "done"
    messages = git(shop.project, "log", "--format=%B")
    assert (messages.count("Mend it"), messages.count("Co-Authored-By")) == (1, 0)

    listed = person(shop, "rules")
    assert "before: 6 of 6 broken; since: 1 followed, 1 reminded, 0 broken in 1 session" in listed
    assert "before: 3 of 6 broken; since: 1 followed, 1 reminded, 0 broken in 1 session" in listed
    # What was answered is no question any more: it counts since the yes, and these transcripts say they are of later.
    left = person(shop, "report", typed=("",))
    assert f'your rule "{NO_TRAILER}" broken in 3 of 4 commits since your yes' in left
    assert "CLAUDE.md" not in left


@pytest.mark.parametrize(
    ("number", "text", "breaks", "follows"),
    [("2", INSTEAD, "tea brew pot", "brew pot"), ("3", NO_PUSH, "git push nowhere", "git status")],
)
def test_each_other_line_of_the_report_is_met_in_a_new_session(
    shop: ClaudeCode, number: str, text: str, breaks: str, follows: str
) -> None:
    person(shop, "report", typed=(number,))
    session = shop.session("tidy up", [run(breaks), later(run(follows)), later(run(breaks)), say("All done.")])

    denied, other, again = session.results()
    assert f'"{text}". {NOT_RUN}' in denied
    assert "Rule of your user" not in other + again
    assert "1 reminded, 1 broken in 1 session" in person(shop, "rules")


def test_a_review_has_five_answers_and_new_sessions_keep_to_those_that_are_a_yes(shop: ClaudeCode) -> None:
    with (shop.project / "CLAUDE.md").open("a", encoding="utf-8") as file:
        file.write("- We use pnpm, not npm\n- Never force push\n")
    listed = person(shop, "review", typed=("",))
    texts = NO_TRAILER, "We use pnpm, not npm", INSTEAD, NO_PUSH, "Never force push"
    place = {text: 1 + sorted(texts, key=listed.index).index(text) for text in texts}
    keys = " ".join(f"{key} {place[text]}" for key, text in zip("yenld", texts, strict=True))
    person(shop, "review", typed=(keys, "We use yarn, not npm", "y"))

    calls = (BREAKS, "npm ci", "tea brew pot", "git push nowhere", "git push --force nowhere")
    session = shop.session("tidy up", [*(later(run(each)) for each in calls), say("All done.")])

    said = ["Rule of your user" in each for each in session.results()]
    assert said == [True, True, False, False, True]
    assert '"We use yarn, not npm"' in session.results()[1]
    assert {text: each.state.value for text, each in rules(shop).items()} == {
        NO_TRAILER: "accepted",
        "We use yarn, not npm": "accepted",
        INSTEAD: "declined",
        NO_PUSH: "postponed",
        "Never force push": "accepted",
    }
    assert rules(shop)["We use yarn, not npm"].words == "We use pnpm, not npm"
    assert rules(shop)["Never force push"].words == ""
    assert "Nothing waits for an answer." in person(shop, "review")
