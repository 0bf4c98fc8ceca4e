"""Every number and every list of words that decides whether an agent is shown something unasked, and what.

Each says on which set it was chosen, when, and with which figure. The sets are: *entries*, 81 resolved entries of which
39 have an earlier lesson that applies; *prompts*, 116 prompts of which 36 have one; *errors*, 28 lessons at the errors
of their commands in eight ways of running them; *names*, 900 made texts; *sessions*, 150 recorded sessions; *people*,
380 sessions of people. `python -m benchmarks.recurrence`, `lessons` and `names` measure them.
"""

from typing import Final

# ---- Scores: see `scorer`

CLOSENESS: Final = 0.5  # Weight of the closeness. entries, 2026-08: 33 of 39 right, 1 wrong
COVERAGE: Final = 0.4  # Weight of the share of rare terms. entries, 2026-08: 33 of 39; without it 27
STANDING: Final = 0.05  # Weight of a standard deviation above the usual closeness. entries, 2026-08: 33 of 39
STANDING_MOST: Final = 5.0  # The most standard deviations that count. entries, 2026-08
PRIOR: Final = (
    10  # Entries on other matters that every store counts as having. entries, 2026-08: small stores are shown less
)
USUAL: Final = 0.17  # Mean closeness of experiences to a goal with a hypothesis. entries, 2026-08
DEVIATION: Final = 0.13  # Its standard deviation. entries, 2026-08
BACKGROUND: Final = 200  # The newest entries that show what is usual. entries, 2026-08: as good as all, in 2 ms
DEPTH: Final = 16  # The nearest older entries that are scored, too. entries, 2026-08
EMBEDDED: Final = (
    2  # Entries that are not indexed yet and are embedded at once, by shared terms: each takes 10 to 20 ms
)
MISLED: Final = 0.2  # What a lesson loses each time that it misled more often than it helped. entries, 2026-08
CHANGED: Final = 0.2  # What it loses if all of its files have changed. `benchmarks.freshness`, 2026-09

# ---- The least score of what is shown

START: Final = 0.475  # At a start, in a store of up to 100 entries. entries, 2026-08: 33 of 39 right, 1 wrong
PROMPT: Final = 0.05  # More at a prompt. prompts, 2026-09: 29 of 36 right, 2 of 80 others
ERROR: Final = 0.64  # At a failed command, in a store of 100 entries. errors, 2026-11: 21 of 28 right, 0 wrong
NAMED: Final = 0.25  # If the lesson names the same file, identifier or code. names, 2026-09: 1 of 700 others
GROWTH: Final = 0.04  # More as a store becomes e times as large. `benchmarks.advice_growth`, 2026-09
GROWS_ABOVE: Final = 100  # Entries from which on that counts at a start
FEW: Final = 10  # Entries that a store counts as having at least, at a failed command
VALUE: Final = 0.3  # A value's closeness above the usual one. `benchmarks.thresholds`, 2026-09
LEAD_SHARE: Final = 0.5  # What a point of lead over the next lesson is worth. entries, 2026-08
LEAD_MOST: Final = 0.15  # The most lead that counts. entries, 2026-08
LEAD_USUAL: Final = 0.1  # The lead that needs nothing and gives nothing. entries, 2026-08
WEAKER: Final = 0.12  # How far below the best score a second lesson may be. entries, 2026-08
JUDGED: Final = 5  # The best lessons whose files are looked at: with 20 files each, it takes 2 ms
TERMS_LEAST: Final = 3  # Different terms of a prompt: "run the tests" has too few. prompts, 2026-09
LINE_TERMS_LEAST: Final = 6  # Terms of an error's line that is looked for without its command, too. errors, 2026-09
PROMPT_MAX: Final = 2_000  # Characters of a prompt that are used: the model reads no more
TWICE: Final = 2  # Times after which a lesson that never helped needs more than a name. prompts, 2026-09

# ---- One matter: see `matters`

ALIKE: Final = 0.5  # The share of their terms that two near copies have in common. entries, 2026-08

# ---- Names: see `names`

NAME_LEAST: Final = 3  # Characters of a name. names, 2026-09
NAME_TEXTS: Final = 200  # A project's last prompts and commands that show which names are in use. names, 2026-09
NAME_USED: Final = 10  # In how many of them a name may be, without those of the two sessions concerned. names, 2026-09
NAME_LESSONS: Final = 500  # A project's newest lessons that are looked at. names, 2026-09
NAME_FEW: Final = 2  # How many lessons on different matters may have a name. names, 2026-09
NAME_SHARE: Final = 0.02  # Or which share of the lessons may. names, 2026-09

# ---- Ties: see `ties`

ROUTINE: Final = 3  # Earlier sessions above which an error is part of the work. people, 2026-09: 0 wrong
VAIN: Final = (
    2  # Sessions in which an error came again after its lesson; then it is not shown any more. sessions, 2026-09
)
QUOTED: Final = 4  # Words in a row that are a quotation. errors, 2026-09
OLD: Final = 200  # The newest entries that may be from before failures were recorded

COMMON_PROGRAMS: Final = frozenset(
    """
    python py pip pipenv poetry uv pdm hatch node npm npx pnpm yarn bun deno ruby gem bundle rake rails php composer java
    javac gradle mvn go cargo rustc gcc g++ clang make gmake cmake ninja just sh bash zsh git gh docker docker-compose
    kubectl helm terraform aws gcloud az psql mysql sqlite3 redis-cli curl wget ssh scp rsync apt apt-get brew pytest
    py.test unittest tox nox jest vitest mocha rspec playwright tsc tsx ts-node eslint prettier biome ruff black mypy
    pyright golangci-lint mise task turbo nx pre-commit cp mv mkdir ln rm touch chmod kill sleep test run exec
    """.split()
)
"""Programs whose names say nothing of what an entry is about. people, 2026-09."""
SHELL_WORDS: Final = frozenset({"do", "then", "else", "if", "while", "until"})
"""Words of the shell before a program."""

# ---- Files

WRONG_BELIEFS: Final = 5  # The newest wrong beliefs about a file that are looked at
WRONG_BELIEFS_SHOWN: Final = 2  # How many of them a session is shown
