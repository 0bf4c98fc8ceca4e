"""GHAP entries as JSON data and back; see `codec.py`."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from learning_memory_server.journal.codec import Codec, lean
from learning_memory_server.model.advice import Citation, Effect, Kind
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, Revision, RootCause
from learning_memory_server.model.run import Run
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy

if TYPE_CHECKING:
    from learning_memory_server.journal.codec import Data


def ghap_to_data(ghap: Ghap) -> Data:
    """Return the entry as JSON data."""
    return lean(
        {
            "id": ghap.id,
            "project": ghap.project,
            "agent_session": ghap.agent_session,
            "agent": ghap.agent,
            "created_at": ghap.created_at.isoformat(),
            "domain": ghap.domain.value,
            "strategy": ghap.strategy.value,
            "goal": ghap.goal,
            "hypothesis": ghap.hypothesis,
            "action": ghap.action,
            "prediction": ghap.prediction,
            "history": [
                lean(
                    {
                        "at": revision.at.isoformat(),
                        "hypothesis": revision.hypothesis,
                        "action": revision.action,
                        "prediction": revision.prediction,
                        "confidence": revision.confidence,
                    }
                )
                for revision in ghap.history
            ],
            "confidence": ghap.confidence,
            "first_confidence": ghap.first_confidence,
            "notes": list(ghap.notes),
            "runs": [run_to_data(run) for run in ghap.runs],
            "orphaned": ghap.orphaned or None,
            "requests": list(ghap.requests),
            "resolution": _resolution_to_data(ghap.resolution) if ghap.resolution else None,
        }
    )


def ghap_from_data(data: Data) -> Ghap:
    """Return the entry that the data describes.

    Raises:
        KeyError, ValueError, TypeError: If the data does not describe one.
    """
    return Ghap(
        id=data["id"],
        project=data["project"],
        agent_session=data["agent_session"],
        created_at=datetime.fromisoformat(data["created_at"]),
        domain=Domain(data["domain"]),
        strategy=Strategy(data["strategy"]),
        goal=data["goal"],
        hypothesis=data["hypothesis"],
        action=data["action"],
        prediction=data["prediction"],
        agent=data.get("agent", ""),
        history=tuple(
            Revision(
                datetime.fromisoformat(item["at"]),
                item["hypothesis"],
                item["action"],
                item["prediction"],
                item.get("confidence"),
            )
            for item in data.get("history", ())
        ),
        confidence=data.get("confidence"),
        first_confidence=data.get("first_confidence"),
        notes=tuple(data.get("notes", ())),
        runs=tuple(run_from_data(item) for item in data.get("runs", ())),
        orphaned=data.get("orphaned", False),
        requests=tuple(data.get("requests", ())),
        resolution=_resolution_from_data(data["resolution"]) if "resolution" in data else None,
    )


def run_to_data(run: Run) -> Data:
    """Return the run as JSON data."""
    return lean(
        {
            "at": run.at.isoformat(),
            "command": run.command,
            "exit_status": run.exit_status,
            "passed": run.passed,
            "failed": run.failed,
            "skipped": run.skipped,
        }
    )


def run_from_data(data: Data) -> Run:
    """Return the run that the data describes.

    Raises:
        KeyError, ValueError, TypeError: If the data does not describe one.
    """
    return Run(
        at=datetime.fromisoformat(data["at"]),
        command=data["command"],
        exit_status=data["exit_status"],
        passed=data.get("passed"),
        failed=data.get("failed"),
        skipped=data.get("skipped"),
    )


def _resolution_to_data(resolution: Resolution) -> Data:
    root_cause, lesson = resolution.root_cause, resolution.lesson
    return lean(
        {
            "status": resolution.status.value,
            "result": resolution.result,
            "resolved_at": resolution.resolved_at.isoformat(),
            "surprise": resolution.surprise,
            "root_cause": root_cause
            and {"category": root_cause.category.value, "description": root_cause.description},
            # Programs that do not know a lesson without `what_worked` read an empty one.
            "lesson": lesson and {"what_worked": lesson.what_worked, **lean({"takeaway": lesson.takeaway})},
            "auto_captured": resolution.auto_captured or None,
            "cited": [
                {"id": each.id, "kind": each.kind.value, "effect": each.effect.value}
                for each in resolution.cited
            ],
        }
    )


def _resolution_from_data(data: Data) -> Resolution:
    root_cause, lesson = data.get("root_cause"), data.get("lesson")
    return Resolution(
        status=OutcomeStatus(data["status"]),
        result=data["result"],
        resolved_at=datetime.fromisoformat(data["resolved_at"]),
        surprise=data.get("surprise"),
        root_cause=root_cause
        and RootCause(RootCauseCategory(root_cause["category"]), root_cause["description"]),
        lesson=lesson and Lesson(lesson["what_worked"], lesson.get("takeaway")),
        auto_captured=data.get("auto_captured", False),
        cited=tuple(
            Citation(item["id"], Kind(item["kind"]), Effect(item["effect"])) for item in data.get("cited", ())
        ),
    )


GHAP: Final = Codec("ghap", ghap_to_data, ghap_from_data, lambda entry: entry.requests)
