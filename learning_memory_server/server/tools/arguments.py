"""The types of a client's arguments, derived from the domain's vocabularies and limits."""

from typing import Annotated

from pydantic import BeforeValidator, Field, StringConstraints

from learning_memory_server.model import limits
from learning_memory_server.model.entry import Lesson, RootCause
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, RootCauseCategory
from learning_memory_server.server.schema import HIDDEN
from learning_memory_server.server.tools.toolset import Arguments


def _text(limit: int) -> StringConstraints:
    return StringConstraints(min_length=1, max_length=limit)


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


# Stripped as the domain strips them: pydantic knows fewer white-space characters.
Text = Annotated[str, BeforeValidator(_stripped)]
Statement = Annotated[Text, _text(limits.STATEMENT_MAX)]
Goal = Annotated[Statement, Field(description="What you want to achieve.")]
Hypothesis = Annotated[Statement, Field(description="A belief that can turn out wrong.")]
Action = Annotated[Statement, Field(description="What you do because of it.")]
Prediction = Annotated[Statement, Field(description="The observation to expect if it is right.")]
Confidence = Annotated[float, Field(ge=0, le=1, description="Probability that the prediction comes true, 0-1.")]
Narrative = Annotated[Text, _text(limits.NARRATIVE_MAX)]
ValueText = Annotated[Text, _text(limits.VALUE_MAX), Field(description="A principle: what to do in such situations.")]
QueryText = Annotated[Text, _text(limits.QUERY_MAX)]
Identifier = Annotated[Text, _text(limits.ID_MAX)]
SameAs = Annotated[Identifier, Field(description="Instead of both: an entry with that belief.")]
GhapId = Annotated[Identifier, Field(description="The entry; default: your current one.")]
ClusterName = Annotated[Identifier, Field(description="From get_clusters, such as full_0.")]
MemoryText = Annotated[Text, _text(limits.MEMORY_MAX), Field(description="Any text or code.")]
SourceText = Annotated[Text, _text(limits.SOURCE_MAX)]
Tag = Annotated[Text, _text(limits.TAG_MAX)]
ProjectName = Annotated[
    Text, _text(limits.PROJECT_MAX), Field(description="A project's name, or `current`; default: all.")
]
# An outcome is not refused for what it cites: what cannot be an id is named in the reply.
HelpedIds = Annotated[list[Text], Field(description="IDs of the `related` items that helped.")]
MisledIds = Annotated[list[Text], Field(description="IDs that sent you the wrong way.")]
Since = Annotated[Text, _text(limits.ID_MAX), Field(description="ISO 8601 date (UTC) or datetime.")]
Offset = Annotated[int, Field(ge=0, description="Next page: the last reply's `offset`.")]
# For people who try a search: agents are not shown it.
Explain = Annotated[bool, Field(description="For debugging: show each score's parts.", json_schema_extra=HIDDEN)]
SearchLimit = Annotated[int, Field(ge=1, le=limits.SEARCH_RESULTS_MAX, description=f"1-{limits.SEARCH_RESULTS_MAX}.")]
ListingLimit = Annotated[int, Field(ge=1, le=limits.LISTING_MAX, description=f"1-{limits.LISTING_MAX}.")]
MinScore = Annotated[float, Field(ge=0, le=1, description="Lowest score, 0-1; 0 includes weak matches.")]
AxisToCompare = Annotated[Axis, Field(description="Which view; full: the whole story.")]
OnlyDomain = Annotated[Domain, Field(description="Only this kind of task.")]
OnlyOutcome = Annotated[OutcomeStatus, Field(description="Only this outcome.")]


class RootCauseArgument(Arguments):
    """Why the hypothesis was wrong."""

    category: Annotated[RootCauseCategory, Field(description="The kind of cause.")]
    description: Annotated[Narrative, Field(description="The cause.")]

    def to_domain(self) -> RootCause:
        """Return the domain's root cause."""
        return RootCause(self.category, self.description)


class LessonArgument(Arguments):
    """The part worth doing again."""

    what_worked: Annotated[Narrative, Field(description="What solved it.")] | None = None
    takeaway: Annotated[Narrative, Field(description="A rule for next time.")] | None = None

    def to_domain(self) -> Lesson:
        """Return the domain's lesson."""
        return Lesson(self.what_worked or "", self.takeaway)
