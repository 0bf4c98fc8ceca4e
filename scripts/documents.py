"""The JSON documents that commands print with `--json`.

The reference is generated from these types, and tests compare what commands print with them.
"""

from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.server.views.advice_views import ShownStats
from learning_memory_server.server.views.calibration_views import CalibrationView
from learning_memory_server.server.views.entry_views import EntryKey, Member, ScoredExperience, Summary, WholeEntry
from learning_memory_server.server.views.failure_views import RepeatedError
from learning_memory_server.server.views.memory_views import FoundMemoryView, MemoryView
from learning_memory_server.server.views.rule_views import RuleView
from learning_memory_server.server.views.value_views import AxisView, Exemplar, FullValue
from scripts.report_documents import (
    ArchiveDocument,
    BackupDocument,
    ContextDocument,
    DemoDocument,
    ForgetDocument,
    ImportDocument,
    LearnDocument,
    LeaveDocument,
    MigrateDocument,
    PageDocument,
    PastAccount,
    ProjectsDocument,
    ReindexDocument,
    ScanDocument,
    SetupDocument,
    StartDocument,
    UninstallDocument,
    WhyDocument,
)
from scripts.retrospective_documents import KeptDocument, MomentsDocument, RecentDocument


class EntryDocument(TypedDict):
    """Resolved entries, newest first; `total` counts all that match."""

    results: list[Summary]
    count: int
    total: int


class Strong(TypedDict):
    """Something that was found. What has the most `strength` is best. Below 1, or 0.6 of the best, it is weak."""

    strength: float


class FoundExperience(ScoredExperience, Strong):
    """An experience that was found."""


class FoundValue(FullValue, Strong):
    """A value that was found."""


class FoundText(FoundMemoryView, Strong):
    """A memory that was found."""


class FoundError(RepeatedError, Strong):
    """An error that was found."""


class FoundDocument(TypedDict):
    """Experiences, best match first, and the `mode` of the search: hybrid, lexical or reranked; and what else matches.

    `count` counts `results`. Kinds that were not searched are empty.
    """

    results: list[FoundExperience]
    count: int
    mode: str
    values: list[FoundValue]
    memories: list[FoundText]
    errors: list[FoundError]


class MemoryDocument(TypedDict):
    """Memories, the last one added first; `total` counts all that match."""

    results: list[MemoryView]
    count: int
    total: int


class ValueDocument(TypedDict):
    """Values."""

    results: list[FullValue]
    count: int


class WaitingDocument(TypedDict):
    """Something that waits: agents are shown `text` at `about`, if a person says so."""

    id: str
    kind: str
    project: str
    text: str
    about: str
    fared: str
    since: NotRequired[str]
    is_told: bool


class ReviewDocument(TypedDict):
    """Suggested rules and lessons that wait for a person's answer."""

    results: list[WaitingDocument]
    count: int


class ErrorsDocument(TypedDict):
    """Errors of commands, the last seen first; `total` counts all that match."""

    results: list[RepeatedError]
    count: int
    total: int


class ClusterDocument(AxisView):
    """The clusters of an axis, largest first. Of `total` experiences, `noise_count` are in none.

    With `--noise`, `noise` has the newest 50 without a cluster.
    """


class MemberDocument(TypedDict):
    """A cluster with all its experiences, most central first: the `cluster` of `show`."""

    cluster_id: str
    axis: str
    members: list[Member]
    count: int
    takeaway: NotRequired[str]
    label: NotRequired[str]
    size: NotRequired[int]
    avg_weight: NotRequired[float]
    exemplars: NotRequired[list[Exemplar]]
    outcomes: NotRequired[dict[str, int]]
    root_causes: NotRequired[dict[str, int]]
    first_seen: NotRequired[str]
    last_seen: NotRequired[str]
    last_30_days: NotRequired[int]


class WholeValue(FullValue):
    """A value with all ids: of its cluster's members, and of the entries with verdicts for and against it."""

    supported_by: list[str]
    contradicted_by: list[str]


class ShownDocument(TypedDict):
    """The thing that was found, under the name of its `kind`; `given` says how often agents were given it."""

    kind: Literal["entry", "value", "memory", "error", "cluster"]
    entry: NotRequired[WholeEntry]
    value: NotRequired[WholeValue]
    memory: NotRequired[MemoryView]
    error: NotRequired[RepeatedError]
    cluster: NotRequired[MemberDocument]
    given: NotRequired[str]


class HubFacts(TypedDict, total=False):
    """The state of a hub. `points` counts them by collection, once the index is open."""

    pid: int
    version: str
    uptime_seconds: int
    sessions: int
    model: str
    runtime: str
    points: dict[str, int]
    pending: int
    journal: str
    settings_current: bool
    notice: str
    error: str


class JournalFacts(TypedDict):
    """Where the journal is, its size, and how many of its lines cannot be read."""

    path: str
    bytes: int
    damaged_lines: int


class EntryCounts(TypedDict):
    """Counts of entries; those by tier, outcome and project are of resolved ones."""

    resolved: int
    open: int
    by_tier: dict[str, int]
    by_outcome: dict[str, int]
    by_project: dict[str, int]


class RulesDocument(TypedDict):
    """The rules that apply in this project, accepted ones first. Others are declined, postponed or retired."""

    rules: list[RuleView]


class RulesStatus(TypedDict):
    """How many rules agents are shown, how many of them are enforced, and how all of them fared since the yes."""

    accepted: int
    enforced: int
    followed: int
    reminded: int
    broken: int
    stopped: int


class RuleWeek(TypedDict):
    """How a rule fared in the last seven days."""

    id: str
    text: str
    followed: int
    reminded: int
    broken: int
    stopped: int


class WeekDocument(TypedDict):
    """With `--week`: the rules of all projects."""

    week: list[RuleWeek]


class SettingFacts(TypedDict):
    """A setting; its value's `source` is a variable, the file, or `default`."""

    name: str
    value: str | float | bool | None
    source: str
    about: str


class SettingsDocument(TypedDict):
    """The settings, and the file in which they can be changed."""

    file: str
    settings: list[SettingFacts]


class StatusDocument(TypedDict):
    """Counts of the store. `locked_by` describes the process that has locked the data; `open` lists the open entries.

    `left_out` says that this folder is left out, if it is. `other_stores` are folders of this user with records that
    are not read here. `values` includes those `superseded`.
    `failures` counts commands, and `errors` what they failed with.
    """

    journal: JournalFacts
    left_out: str | None
    other_stores: list[str]
    index: str
    locked_by: dict[str, Any] | None
    hub: HubFacts | None
    entries: EntryCounts
    open: list[EntryKey]
    values: int
    superseded: int
    memories: int
    failures: int
    errors: int
    waiting: int
    waiting_in: dict[str, int]
    shown: ShownStats
    rules: RulesStatus
    last_session: WhyDocument


class FindingFacts(TypedDict):
    """What a check found."""

    level: Literal["green", "info", "yellow", "red"]
    topic: str
    sentence: str


class DoctorDocument(TypedDict):
    """Findings of the checks, and repairs of `--fix`; `problems` counts red findings, `warnings` yellow ones."""

    problems: int
    warnings: int
    findings: list[FindingFacts]
    repairs: list[FindingFacts]


class FailureFacts(TypedDict):
    """What was wrong, and what to do next if anything helps. The types are those of the tools' errors."""

    type: str
    message: str
    hint: NotRequired[str]


class FailureDocument(TypedDict):
    """A command that fails prints this in place of its own; its exit status is 1, or 2 for a wrong option."""

    error: FailureFacts


DOCUMENTS: Final[dict[str, tuple[type, ...]]] = {
    "start": (StartDocument,),
    "demo": (DemoDocument,),
    "setup": (SetupDocument,),
    "uninstall": (UninstallDocument,),
    "status": (StatusDocument, WeekDocument),
    "report": (PastAccount,),
    "rules": (RulesDocument,),
    "doctor": (DoctorDocument,),
    "list": (EntryDocument,),
    "show": (ShownDocument,),
    "search": (FoundDocument,),
    "clusters": (ClusterDocument,),
    "values": (ValueDocument,),
    "calibration": (CalibrationView,),
    "failures": (ErrorsDocument,),
    "review": (ReviewDocument,),
    "retrospective recent": (RecentDocument,),
    "retrospective past": (MomentsDocument,),
    "retrospective keep": (KeptDocument,),
    "context": (ContextDocument,),
    "settings": (SettingsDocument,),
    "project list": (ProjectsDocument,),
    "dashboard": (PageDocument,),
    "backup": (BackupDocument,),
    "memories": (MemoryDocument,),
    "reindex": (ReindexDocument,),
    "import": (ImportDocument, ArchiveDocument),
    "learn-from": (LearnDocument,),
    "migrate": (MigrateDocument, LeaveDocument),
    "forget": (ForgetDocument,),
    "scan": (ScanDocument,),
}
"""The documents of each command that takes `--json`."""
