"""The JSON documents of the commands that change, copy or move the stored data."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.index.moving import Moved
from learning_memory_server.server.views.failure_views import ErrorFigures, RepeatedError

ScanFinding = TypedDict(
    "ScanFinding", {"what": str, "id": str, "field": str, "secret": str, "count": int, "in": list[str]}
)


class ScanDocument(TypedDict):
    """The places and kinds of secrets; `in` names the journal and backups.

    `removed`: all were replaced. `left` has the ids of records that still have one.
    """

    findings: list[ScanFinding]
    backups: int
    backups_looked_at: bool
    backups_unreadable: list[str]
    removed: bool
    indexed: NotRequired[bool]
    left: NotRequired[list[str]]


class PassedOver(TypedDict):
    """What was not read: damaged or very long `lines`, `files` with the reason, and `links` to other folders."""

    lines: int
    files: list[str]
    links: int


class LeftOutCounts(TypedDict):
    """What is not the project's: transcripts, by the reason, and `commands` that sessions ran in folders of others."""

    excluded: int
    other_projects: int
    gone_folders: int
    earlier: int
    without_folder: int
    commands: int


class ReportedFigures(ErrorFigures):
    """The figures of what a line of the report, its `text`, is about: an error, failures of a check, or wrong paths."""

    text: str


class ReportedLine(TypedDict):
    """A line of the report, by its `kind`: a broken rule, a failure, or a refusal.

    `broken` and `followed` count past calls, edits and ends of work. A person may accept a line in a terminal, if it
    has something to remind agents of.
    """

    label: str
    text: str
    kind: Literal["rule", "failure", "refusal"]
    broken: int
    followed: int
    can_be_accepted: bool


class PastAccount(TypedDict):
    """The account of past sessions: at most twelve lines, and the figures of lines about failures.

    `refused` counts the calls that a person refused with words.
    """

    lines: list[ReportedLine]
    figures: list[ReportedFigures]
    refused: int


class LearnDocument(PastAccount):
    """Findings in past sessions: `errors` have what is `new` here; `kept` were kept now.

    `transcripts` counts them by project, without those `left_out`. Of their `commands`, `failed` failed.
    """

    kept: int
    new: int
    known: int
    errors: list[RepeatedError]
    transcripts: dict[str, int]
    left_out: LeftOutCounts
    commands: int
    failed: int
    passed_over: PassedOver
    seconds: float


class BackupDocument(TypedDict):
    """The archive that was written, null if there was nothing to back up; `records` counts by kind."""

    path: str | None
    bytes: int
    records: dict[str, int]
    forgotten: int


class PageDocument(TypedDict):
    """The page that was written. It is not opened."""

    path: str
    bytes: int


class ContextDocument(TypedDict):
    """The context of a new session of the project; empty if there is nothing."""

    project: str
    text: str


class ShownItem(TypedDict):
    """One thing that an agent was shown; `text` is as the journal has it now."""

    id: str
    reason: str | None
    text: str


class ShownLine(TypedDict):
    """What an agent was shown at a `trigger`, and by what rule."""

    at: str
    trigger: str
    rule: str
    items: list[ShownItem]


class WhyDocument(TypedDict):
    """Advice to the project's last session, from the journal."""

    project: str
    shown: list[ShownLine]


class ListedProject(TypedDict):
    """A project: its name, the `ids` that are read as it, its entries, open ones included, and its folders here."""

    project: str
    ids: list[str]
    entries: int
    folders: list[str]


class ProjectsDocument(TypedDict):
    """The projects that have records."""

    projects: list[ListedProject]


class StartDocument(PastAccount):
    """Clients: ready, skipped, refused, failed, absent; records that were `kept`, and the account of the past."""

    clients: dict[str, str]
    kept: int
    left_out: LeftOutCounts


class DemoDocument(TypedDict):
    """The demo's records, and its seconds; `folder` has it, null without `--keep`."""

    experiences: int
    values: int
    folder: str | None
    seconds: float


class SetupDocument(TypedDict):
    """Whether anything was `changed`; with `--print`, `text` is what to add by hand. Only `--model` names no client."""

    client: str | None
    changed: bool
    text: str


class UninstallDocument(TypedDict):
    """Clients: removed, absent, skipped, failed; files `removed` from the storage folder.

    `exported` is the file that was written before the data was removed, null if none was.
    """

    clients: dict[str, str]
    removed: list[str]
    exported: str | None
    data_left: bool


class RejectedLine(TypedDict):
    """A line that is not an entry."""

    line: int
    reason: str


class ImportDocument(TypedDict):
    """The result of a JSONL file. `without_project` entries name no project, and go under `project`.

    `changes` counts what was mapped or dropped, and `redacted` secrets by kind. `backup` is the file that was written
    first. After a dry run, `imported` is what would be.
    """

    dry_run: bool
    imported: int
    already_there: int
    project: str
    without_project: int
    forgotten_here: int
    forgotten_there: int
    repeated: int
    changes: dict[str, int]
    redacted: dict[str, int]
    rejected: list[RejectedLine]
    backup: str | None
    index: str
    seconds: float


class Compared(TypedDict):
    """How the things of one sort compare with what is here; of `differing` ones, which have ids, ours stay."""

    new: int
    there: int
    differing: list[str]
    forgotten_here: int


class ForgottenThere(TypedDict):
    """Of what was forgotten in an archive, how much is `present` here and how much `unknown`."""

    present: int
    unknown: int


class ArchiveDocument(TypedDict):
    """The content of an archive and, if it was `applied`, the result.

    `own` is whether this store made it, or a person has called it their own.
    `contents` compares by sort: `entry`, `open entry`, `value` and so on. `imported` counts by sort, and `redacted`
    secrets by kind. `noted` counts ids that are recorded as forgotten although nothing here had them.
    """

    archive: str
    created_at: str
    program: str
    own: bool
    project: str | None
    damaged_lines: int
    contents: dict[str, Compared]
    cluster_numbers: Literal["none", "new", "there", "skipped"]
    forgotten_there: ForgottenThere
    changes: dict[str, int]
    rejected: list[str]
    applied: bool
    backup: NotRequired[str | None]
    imported: NotRequired[dict[str, int]]
    forgotten: NotRequired[int]
    noted: NotRequired[int]
    redacted: NotRequired[dict[str, int]]
    index: NotRequired[str]
    seconds: NotRequired[float]


class ForgottenThing(TypedDict):
    """An entry, a value, a memory, a failure or a rule, and its text or the beginning of it."""

    kind: Literal["ghap", "value", "memory", "failure", "rule"]
    id: str
    text: str


class ForgottenVerdict(TypedDict):
    """A verdict that goes along."""

    value_id: str
    ghap_id: str
    stance: str


class ForgetDocument(TypedDict):
    """Things that were found and, if `forgotten`, are forgotten; `citing` has the ids of values that stay and cite it.

    `repeating` has the ids of entries that are forgotten with it, because their goal and hypothesis come from it.
    `rules_kept` counts the rules of a project that stay, because no person was asked.
    `indexed` is false while the index still has points of it; `elsewhere` has the URLs of Qdrant servers that are not
    in use and may have some. With --purge, `removed` counts the lines that left the journal's files, `doubtful` names
    files with unreadable bytes, and `backups` counts the lines in backups by name.
    """

    forgotten: bool
    found: list[ForgottenThing]
    repeating: list[str]
    citing: list[str]
    verdicts: list[ForgottenVerdict]
    rules_kept: int
    indexed: NotRequired[bool]
    elsewhere: NotRequired[list[str]]
    removed: NotRequired[int]
    doubtful: NotRequired[list[str]]
    backups: NotRequired[dict[str, int]]
    backups_rewritten: NotRequired[bool]
    backups_removed: NotRequired[list[str]]
    backups_unreadable: NotRequired[list[str]]


class ReindexDocument(TypedDict):
    """How many vectors the rebuilt index has; `axis` is null if all of it was rebuilt."""

    axis: str | None
    vectors: int
    seconds: float


class LeaveDocument(TypedDict):
    """How many of your own points were removed from a server."""

    removed: int
    seconds: float


class MigrateDocument(TypedDict):
    """Points that were copied, by collection, and whether all of it has arrived."""

    complete: bool
    collections: dict[str, Moved]
    seconds: float
