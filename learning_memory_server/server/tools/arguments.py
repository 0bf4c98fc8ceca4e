"""The types of the client's arguments, made from the domain's vocabularies and limits."""

from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints

from learning_memory_server.domain import limits
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.ghap import Lesson, RootCause
from learning_memory_server.domain.vocabulary import RootCauseCategory
from learning_memory_server.server.tools.toolset import Arguments


def _text(limit: int) -> StringConstraints:
    return StringConstraints(min_length=1, max_length=limit)


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


# Stripped as the domain strips: pydantic's own idea of white space is narrower.
Text = Annotated[str, BeforeValidator(_stripped)]
Statement = Annotated[Text, _text(limits.STATEMENT_MAX)]
Narrative = Annotated[Text, _text(limits.NARRATIVE_MAX)]
ValueText = Annotated[Text, _text(limits.VALUE_MAX)]
QueryText = Annotated[Text, _text(limits.QUERY_MAX)]
Identifier = Annotated[Text, _text(limits.ID_MAX)]
MemoryText = Annotated[Text, _text(limits.MEMORY_MAX)]
SourceText = Annotated[Text, _text(limits.SOURCE_MAX)]
Tag = Annotated[Text, _text(limits.TAG_MAX)]
ProjectName = Annotated[
    Text,
    _text(limits.PROJECT_MAX),
    Field(description="A project's name, or `current`; every project if absent."),
]
Since = Annotated[
    Text, _text(limits.ID_MAX), Field(description="ISO 8601 date or datetime; a bare date is UTC midnight.")
]
Offset = Annotated[int, Field(ge=0, description="How many to skip: the `offset` of the reply before.")]
SearchLimit = Annotated[int, Field(ge=1, le=limits.SEARCH_RESULTS_MAX)]
ListingLimit = Annotated[int, Field(ge=1, le=limits.LISTING_MAX)]


class RootCauseArgument(Arguments):
    """Why the hypothesis was wrong."""

    category: RootCauseCategory
    description: Narrative

    def to_domain(self) -> RootCause:
        """Return the domain's root cause."""
        return RootCause(self.category, self.description)


class LessonArgument(Arguments):
    """What is worth doing again."""

    what_worked: Narrative
    takeaway: Narrative | None = None

    def to_domain(self) -> Lesson:
        """Return the domain's lesson."""
        return Lesson(self.what_worked, self.takeaway)


def named_project(project: str | None, caller: Caller) -> str | None:
    """Return the project that a filter means; `current` is the caller's."""
    return caller.project if project == "current" else project
