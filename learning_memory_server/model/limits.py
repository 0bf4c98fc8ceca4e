"""Limits that agents and people may notice: on input, storage and replies.

Input over a limit is an error, and never truncated. Lengths are in characters, stripped. Limits of archives are in
`journal/archive/reading.py`, of terminals in `cli/out.py`, and times in `system/timeouts.py`.
"""

from __future__ import annotations

from learning_memory_server.errors import InvalidInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

# ---- Input

FRAME_MAX: Final = 64 * 1024 * 1024  # Bytes of the longest JSON-RPC message
STATEMENT_MAX: Final = 1_000  # The limit of goal, hypothesis, action and prediction
NARRATIVE_MAX: Final = 2_000  # Result, surprise, root_cause.description, what_worked, takeaway and note
VALUE_MAX: Final = 500
QUERY_MAX: Final = 1_000
PROJECT_MAX: Final = 200
ID_MAX: Final = 100
MEMORY_MAX: Final = 10_000_000
METADATA_MAX: Final = 65_536  # Bytes of a memory's metadata as compact JSON
TAG_MAX: Final = 200
SOURCE_MAX: Final = 1_000
CITED_MAX: Final = 50  # Ids or tags in a list

# ---- Storage

BACKUPS_KEPT: Final = 10  # Backups in a folder, unless a person gives another number
SIGNATURE_MAX: Final = 200  # Characters of an error's signature. Longer lines differ at the end
RUNS_MAX: Final = 10  # Runs of an entry: the latest
RUN_COMMAND_MAX: Final = 200  # Characters of a run's command
ERRORS_MAX: Final = 10  # Errors of an entry: those that it is about, then the latest
ANCHORS_MAX: Final = 20  # Files that an entry is anchored to
COMMAND_MAX: Final = 400  # Characters of a command: the beginning is enough to recognize a script
RULE_MAX: Final = 200  # Characters of a rule: a sentence that an agent reads before a call
RULE_EVIDENCE_MAX: Final = 200  # How many entries or moments of past sessions support a rule
RETROSPECTIVE_MAX: Final = 15  # Sentences of one retrospective: a person reads no more with care
RULE_DENIALS: Final = 3  # How often a rule denies a call in a session: a wrong pattern must not stop the work
RULE_CALL_EXAMINED: Final = 5_000  # Characters of a call in which secrets are looked for before it is kept
RULE_AGAIN: Final = 10  # Calls of an agent after which a breach is denied again: the rule may have left its context
RULE_FILES_MAX: Final = 100  # How many files of rules of a project are read, and as many of the person's own
RULE_SENTENCES_MAX: Final = 1_000  # How many sentences of them are looked at
LATER_DAYS: Final = 7  # Days after which a suggestion or a lesson that a person put off is asked about again
RULE_CALLS_LAST: Final = 1_000  # Past calls by which it is decided whether a rule may stop a call: the last ones
RULE_CALLS_SHARE: Final = 20  # One that would have stopped more than one in so many of them is only shown
PERSON_WORDS_MAX: Final = 200  # Characters that an entry keeps of the words of the person who contradicted its agent
REFUSAL_WORDS_MAX: Final = 200  # Characters of the words of a refusal. Longer words are pasted.
FAILURES_KEPT: Final = 20  # The newest failures of an error that are kept, and that its figures count
PROJECT_FAILURES_KEPT: Final = 2_000  # Failures of a project that are kept, half a kilobyte each

# ---- Replies, reminders and messages

SEARCH_RESULTS_MAX: Final = 50  # Experiences in the result of one search
LISTING_MAX: Final = 100  # Items in one reply to a listing or a memory search
SEARCH_DEPTH_MAX: Final = 10_000  # Maximum depth of paging in a search
REPORT_LINES: Final = 12  # Lines of a report about past sessions
REPLY_MAX: Final = 32_000  # Characters of JSON in one reply, which is then truncated after a complete item
PREVIEW_MAX: Final = 200  # Characters of a memory or a passage in a preview
PASSAGES_WHOLE: Final = 3  # Passages of memories in full in a concise reply
EXPERIENCES_WHOLE: Final = 3  # Experiences in full in a search result
SHORT_ENTRY_MAX: Final = 160  # Characters of a text in a shortened entry
RUNS_SHOWN: Final = 5  # Runs of an entry: the latest
ENTRIES_NAMED: Final = 5  # Adoptable entries in a hint: the newest
NAMED_GOAL_MAX: Final = 80  # Characters of a goal in such a hint
EXEMPLARS_SHOWN: Final = 3  # Experiences that represent a cluster
TAKEAWAY_SHOWN: Final = 300  # Characters of a takeaway in a listing
NOISE_SHOWN: Final = 50  # Experiences outside of all clusters in a listing
CLUSTERS_NAMED: Final = 10  # Clusters in an error, largest first
GROUPS_NAMED: Final = 3  # Groups that are too small, in the explanation of an empty result
IDS_SHOWN: Final = 5  # Ids of each kind in a value's evidence
CLOSEST_SHOWN: Final = 3  # Experiences of each kind that a value's text is compared with
ALIKE_SHOWN: Final = 5  # Similar values
VALUES_MATCHING: Final = 2  # Values in the result of a search
ADVICE_SHOWN: Final = 2  # Items of advice. Agents do not read more.
ADVICE_GOAL_MAX: Final = 70  # Characters of a goal in advice: enough to recognize the situation
LESSON_ALONE_MAX: Final = 400  # Characters of a single lesson
LESSON_MAX: Final = 300  # Characters of each of several lessons
CONTEXT_MAX: Final = 1_200  # Bytes of the context for a new session
CONTEXT_LINES: Final = 5  # Items at the start of a session: agents do not read more
CONTEXT_SHOWN: Final = 3  # Of these, items of each kind
CONTEXT_RULES: Final = 3  # Of these, rules of the person; a subagent's start has as many
RULES_AT_ONCE: Final = 10  # Broken rules in one message
CONTEXT_GOAL_MAX: Final = 200  # Characters of an open entry's goal in this context
REMINDER_MAX: Final = 160  # Characters of an entry's goal or prediction in a reminder
REMINDER_RUNS: Final = 2  # Runs of an entry in a reminder: the latest
PAGE_MEMORY_MAX: Final = 20_000  # Characters of a memory on the dashboard, which holds all memories
PROBLEMS_SHOWN: Final = 10  # Problems with arguments in a message
QUOTED_MAX: Final = 60  # Characters of a wrong value or name in a message
SERVER_QUOTED_MAX: Final = 200  # Characters of a model server's own message
PROJECTS_NAMED: Final = 20  # Projects in a message


def checked_text(field: str, value: object, limit: int, measured: Callable[[str], str] = str) -> str:
    """Return `value` stripped. Raises InvalidInputError if it is no text, empty, or `measured` above `limit`."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{field}: must be text, not {type(value).__name__}.", arguments=[field])
    text = value.strip()
    if not text:
        raise InvalidInputError(f"{field}: must not be empty (1-{limit} characters).", arguments=[field])
    if (length := len(measured(text))) > limit:
        raise InvalidInputError(f"{field}: {length} characters, the limit is {limit}.", arguments=[field])
    return text
