"""All numbers and lists of words that decide which advice an agent gets.

Each docstring has the meaning of a value, the data set on which it was chosen or checked, the date, and a figure. The
sets are:

- entries: 81 resolved entries. An earlier lesson applies to 39. 33/1/8 (the current values) means: a right lesson at 33
of the 39, a wrong one at 1, and a lesson at 8 of the 42 others.
- prompts: 116. A lesson applies to 36. 29/2 (the current values): right at 29, shown at 2 of 80 others.
- errors: 28 lessons at the errors of their commands, of which 12 are about tools of the project: 22 are shown, 0 wrong.
- names: three sets of 700 texts that name other things, and 200 with another purpose: 1, 2, 0 and 6, 2, 1 are shown.
- sessions: 150 recorded sessions; people: 380 sessions of people. No lesson of a store applies to them.
- situations: `tests/advice/golden.toml`, and how many of them change if the value is a fifth less or more.

`python -m benchmarks.recurrence`, `lessons` and `names` measure all sets except the last.
"""

from typing import Final

# ---- Scores: see `scorer`

CLOSENESS: Final = 0.5  # Weight of the closeness. entries, 2026-11: 29/1/3 with 0.4, 33/2/16 with 0.6
COVERAGE: Final = 0.4  # Weight of the share of rare terms. entries, 2026-11: 29/1/5 with 0.32, 33/1/13 with 0.48
STANDING: Final = 0.05
"""Weight of a standard deviation above the usual closeness. entries, 2026-11: 30/1/5 with 0.04, 33/2/12 with 0.06."""
STANDING_MOST: Final = 5.0
"""The most standard deviations that count. names, 2026-11: 1, 2, 1 of 700 others without it, else 1, 2, 0."""
PRIOR: Final = 10
"""Entries on other matters that every store counts as having. entries, 2026-11: 33/1/9 with 12, 33/1/8 with 8."""
USUAL: Final = 0.17
"""Mean closeness of experiences to a goal with a hypothesis. entries, 2026-11: 33/1/9 with 0.136, 33/1/8 with 0.204."""
DEVIATION: Final = 0.13  # Its standard deviation. entries, 2026-11: 33/1/10 with 0.104, 33/1/8 with 0.156
BACKGROUND: Final = 200  # The newest entries that show what is usual. entries, 2026-11: 33/1/8 with 160 and with 240
DEPTH: Final = 16  # The nearest older entries that are scored, too. situations, 2026-11: 2 changes
EMBEDDED: Final = 2
"""Entries embedded if not indexed yet: each takes 10 to 20 ms. situations, 2026-11: 1 change."""

# ---- Minimum scores for advice

START: Final = 0.475
"""At a start, in a store of up to 100 entries. entries, 2026-11: 34/2/20 with 0.38, 29/1/0 with 0.57."""
PROMPT: Final = 0.05  # More at a prompt. entries, 2026-11: 33/1/9 with 0.04, 33/1/6 with 0.06
ERROR: Final = 0.64
"""At a failed command, in a store of 100 entries. sessions, 2026-11: 10 of 150 are shown one, 12 with 0.63."""
NAMED: Final = 0.25
"""If the lesson names the same file, identifier or code. names, 2026-11: 1, 2, 0 of 700 others get a lesson."""
GROWTH: Final = 0.04
"""Increase per factor of e in store size. `advice_growth`, 2026-11: .07 of starts in 1,000 entries, .07 in 10,000."""
GROWS_ABOVE: Final = 100  # Entries above which `GROWTH` applies at a start. situations, 2026-11: 2 changes
FEW: Final = 10
"""Minimum for the number of entries in a store, at a failed command. situations, 2026-11: 1 change."""
VALUE: Final = (
    0.3  # A value's closeness above the usual one. `thresholds`, 2026-11: .42 are right, .01 where it is absent
)
LEAD_SHARE: Final = 0.5
"""Weight of the lead over the next lesson. entries, 2026-11: 32/2/9 without it, and prompts 27/2."""
LEAD_MOST: Final = 0.15  # The maximum lead. entries, 2026-11: 33/1/8 with 0.12, 33/1/10 with 0.18
LEAD_USUAL: Final = 0.1
"""The lead at which the bar does not change. entries, 2026-11: 33/1/11 with 0.08, 31/2/6 with 0.12."""
WEAKER: Final = (
    0.12  # How far below the best score a second lesson may be. entries, 2026-11: 33/1/8 with 0.096 and 0.144
)
TERMS_LEAST: Final = 3
"""Minimum of distinct terms in a prompt: "run the tests" has too few. prompts, 2026-11: 29/2 with 2 and with 4."""
LINE_TERMS_LEAST: Final = 6
"""Minimum of terms to search for an error's line alone, too. errors, 2026-11: 12 of 12 own tools, 11 without that."""
PROMPT_MAX: Final = 2_000
"""Maximum characters of a prompt: the model reads no more. situations, 2026-11: 2 changes."""
TWICE: Final = 2
"""Times after which a lesson that never helped must match in more than a name. situations, 2026-11: 2 changes."""

# ---- Lessons about the same matter: see `matters`

NEWER: Final = 0.5
"""Minimum score of a newer lesson, relative to the one it replaces. entries, 2026-11: 33/1/8 with 0.4 and 0.6."""
ALIKE: Final = 0.5  # The minimum share of common terms in near copies. entries, 2026-11: 33/1/8 with 0.4 and 0.6

# ---- Names: see `names`

NAME_LEAST: Final = 3  # Minimum characters of a name. entries, 2026-11: 33/1/8 with 2 and 4
NAME_TEXTS: Final = 200
"""A project's last prompts and commands, which show the names in use. situations, 2026-11: 1 change."""
NAME_USED: Final = 10
"""Maximum of these texts with a name, not counting the two sessions concerned. situations, 2026-11: 2 changes."""
NAME_LESSONS: Final = 500  # A project's newest lessons that are searched. situations, 2026-11: 2 changes
NAME_FEW: Final = 2  # Maximum number of lessons on different matters with a name. entries, 2026-11: 33/1/8 with 1 and 3
NAME_SHARE: Final = 0.02  # Or the maximum share of lessons. situations, 2026-11: 1 change

# ---- Ties: see `ties`

ROUTINE: Final = 3
"""Earlier sessions above which an error is routine. people, 2026-11: 0 of 380 are shown a tied lesson."""
VAIN: Final = 2
"""Sessions with the error after its lesson, from which on the lesson is silent. situations, 2026-11: 2 changes."""
QUOTED: Final = 4  # Consecutive words that are a quotation. sessions, 2026-11: 4 of 288 lines are tied, 0 are shown
OLD: Final = 200
"""The newest entries that may predate the recording of failures. situations, 2026-11: 2 changes."""

COMMON_PROGRAMS: Final = frozenset(
    """
    python py pip pipenv poetry uv pdm hatch node npm npx pnpm yarn bun deno ruby gem bundle rake rails php composer java
    javac gradle mvn go cargo rustc gcc g++ clang make gmake cmake ninja just sh bash zsh git gh docker docker-compose
    kubectl helm terraform aws gcloud az psql mysql sqlite3 redis-cli curl wget ssh scp rsync apt apt-get brew pytest
    py.test unittest tox nox jest vitest mocha rspec playwright tsc tsx ts-node eslint prettier biome ruff black mypy
    pyright golangci-lint mise task turbo nx pre-commit cp mv mkdir ln rm touch chmod kill sleep test run exec
    """.split()
)
"""Programs too common to identify a topic. people, 2026-11: 0 of 380 are shown a tied lesson."""

# ---- Files

WRONG_BELIEFS: Final = 5  # The newest wrong beliefs about a file that are considered. situations, 2026-11: 2 changes
WRONG_BELIEFS_SHOWN: Final = 2  # The maximum of them for a session. situations, 2026-11: 1 change

# ---- Questions: see `asking`
# follow-ups: 1,605 messages of people in 321 sessions, 199 of them conceded by the agent; 149/136/86 means: a sign at
# 149, 136 of them among the 199, and 86 questions. `python -m benchmarks.corrections` measures it.

OWN_PARAGRAPH: Final = 300
"""Maximum characters of a typed paragraph. follow-ups, 2026-11: 142/129/83 with 240, 154/140/88 with 360."""
REMARK_MAX: Final = 120
"""Characters of a remark that may address no one. follow-ups, 2026-11: 142/132/82 with 96, 153/139/86 with 144."""
ADDRESSING: Final = frozenset("you your yours why i i'm i'd i've me we we're our let's please hmm mh".split())
"""Words in messages to an agent, but not in pasted reviews. follow-ups, 2026-11: 86/79/56 without them."""
CONCEDED_WITHIN: Final = 60
"""Length of the beginning of an answer, in characters. follow-ups, 2026-11: 149/136/86 with 48, 151/138/87 with 72."""
CONCEDING: Final = (
    *("you're right", "you are right", "you're absolutely right", "you are absolutely right", "good catch"),
    *("great catch", "excellent catch", "nice catch", "good point", "fair point", "great point", "excellent point"),
    *("good call", "my mistake", "my bad", "my apologies", "i apologize", "sorry,", "i was wrong", "i misread"),
    *("i misunderstood", "i should have", "i shouldn't have", "that was wrong", "i overlooked", "i missed that"),
)
"""Beginnings of answers that concede. follow-ups, 2026-11: 19/6/17 without them."""
DISSENTING: Final = frozenset(
    "no not don't doesn't didn't isn't shouldn't won't wrong instead incorrect mistaken never stop revert undo".split()
)
"""Words with which a person contradicts an agent. follow-ups, 2026-11: 136/136/80 without them."""
FAILED_BEFORE: Final = 3
"""Minimum failures of a program before it works. 135 transcripts, 2026-11: an agent answered 6 of 9 such questions."""
NEAR_ENTRIES: Final = 2  # Entries named in a question. 135 transcripts, 2026-11: none has an entry, so 2 is a guess
