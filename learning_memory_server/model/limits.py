"""Limits that an agent or a person can notice: of input, of storage, and of replies.

Input over a limit is an error, never truncated. Lengths are in characters, stripped. Elsewhere are archives
(`journal/archive/reading.py`), terminals (`cli/out.py`) and times (`system/timeouts.py`).
"""

from __future__ import annotations

from learning_memory_server.errors import InvalidInputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

# ---- What may be given

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
CITED_MAX: Final = 50  # How many ids or tags a list of them may have

# ---- What is kept

BACKUPS_KEPT: Final = 10  # How many backups a folder keeps, unless a person says another number
SIGNATURE_MAX: Final = 200  # Characters of an error's signature. Longer lines differ at the end
RUNS_MAX: Final = 10  # How many runs an entry keeps: the last ones
RUN_COMMAND_MAX: Final = 200  # Characters that are kept of a run's command
ERRORS_MAX: Final = 10  # How many errors an entry keeps: those that it is about, else the last ones
ANCHORS_MAX: Final = 20  # How many files an entry is anchored to
COMMAND_MAX: Final = 400  # Characters that are kept of a command: the beginning is enough to recognize a script
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

# ---- What a reply, a reminder or a message shows

SEARCH_RESULTS_MAX: Final = 50  # How many experiences one search may return
LISTING_MAX: Final = 100  # How many items one reply to a listing or a memory search may have
SEARCH_DEPTH_MAX: Final = 10_000  # How deep a search can be paged
REPORT_LINES: Final = 12  # Lines of a report about past sessions
REPLY_MAX: Final = 32_000  # Characters of JSON in one reply, which is then truncated after a complete item
PREVIEW_MAX: Final = 200  # Characters of a memory, or of a passage of one, in a preview
PASSAGES_WHOLE: Final = 3  # How many passages of memories are shown whole in a concise reply
EXPERIENCES_WHOLE: Final = 3  # How many experiences that were found are shown whole
SHORT_ENTRY_MAX: Final = 160  # Characters of a text in a shortened entry
RUNS_SHOWN: Final = 5  # How many of an entry's runs are shown: the last ones
ENTRIES_NAMED: Final = 5  # How many entries that could be adopted a hint names: the newest
NAMED_GOAL_MAX: Final = 80  # Characters of a goal in such a hint
EXEMPLARS_SHOWN: Final = 3  # How many experiences stand for a cluster
TAKEAWAY_SHOWN: Final = 300  # Characters of a takeaway in a listing
NOISE_SHOWN: Final = 50  # How many experiences outside of all clusters are listed
CLUSTERS_NAMED: Final = 10  # How many clusters an error names, largest first
GROUPS_NAMED: Final = 3  # How many groups that are not large enough the explanation of an empty answer names
IDS_SHOWN: Final = 5  # How many ids of each kind a value's evidence shows
CLOSEST_SHOWN: Final = 3  # How many experiences of each kind a value's text is compared with
ALIKE_SHOWN: Final = 5  # How many values that say something similar are shown
VALUES_MATCHING: Final = 2  # How many values come along with a search
ADVICE_SHOWN: Final = 2  # How many items of advice are shown. More are not read.
ADVICE_GOAL_MAX: Final = 70  # Characters of a goal in advice: enough to recognise the situation
LESSON_ALONE_MAX: Final = 400  # Characters of a lesson that is told alone
LESSON_MAX: Final = 300  # Characters of each lesson where several are told
CONTEXT_MAX: Final = 1_200  # Bytes of the context that a new session is given
CONTEXT_LINES: Final = 5  # Items at the start of a session: more are not read
CONTEXT_SHOWN: Final = 3  # Of these, items of each kind
CONTEXT_RULES: Final = 3  # Of these, rules of the person; a subagent's start has as many
RULES_AT_ONCE: Final = 10  # How many rules that a call breaks are told at once
CONTEXT_GOAL_MAX: Final = 200  # Characters of an open entry's goal there
REMINDER_MAX: Final = 160  # Characters of an entry's goal or prediction in a reminder
REMINDER_RUNS: Final = 2  # How many of its runs a reminder shows: the last ones
PAGE_MEMORY_MAX: Final = 20_000  # Characters of a memory on the dashboard, which holds all memories
PROBLEMS_SHOWN: Final = 10  # How many problems with arguments a message names
QUOTED_MAX: Final = 60  # Characters of a wrong value or name that a message quotes
SERVER_QUOTED_MAX: Final = 200  # Characters of a model server's own message that are quoted
PROJECTS_NAMED: Final = 20  # How many projects a message names


def checked_text(field: str, value: object, limit: int, measured: Callable[[str], str] = str) -> str:
    """Return `value` stripped, or refuse what is not text, empty or `measured` above `limit`; `field` is its name."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{field}: must be text, not {type(value).__name__}.", arguments=[field])
    text = value.strip()
    if not text:
        raise InvalidInputError(f"{field}: must not be empty (1-{limit} characters).", arguments=[field])
    if (length := len(measured(text))) > limit:
        raise InvalidInputError(f"{field}: {length} characters, the limit is {limit}.", arguments=[field])
    return text
