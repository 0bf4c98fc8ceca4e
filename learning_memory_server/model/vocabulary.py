"""The closed vocabularies, from which schemas, validators and documentation are derived."""

from enum import StrEnum


class Domain(StrEnum):
    """The kind of task of an entry."""

    DEBUGGING = "debugging"
    REFACTORING = "refactoring"
    FEATURE = "feature"
    TESTING = "testing"
    CONFIGURATION = "configuration"
    DOCUMENTATION = "documentation"
    PERFORMANCE = "performance"
    SECURITY = "security"
    INTEGRATION = "integration"


class Strategy(StrEnum):
    """How the agent approaches the task."""

    SYSTEMATIC_ELIMINATION = "systematic-elimination"
    TRIAL_AND_ERROR = "trial-and-error"
    RESEARCH_FIRST = "research-first"
    DIVIDE_AND_CONQUER = "divide-and-conquer"
    ROOT_CAUSE_ANALYSIS = "root-cause-analysis"
    COPY_FROM_SIMILAR = "copy-from-similar"
    CHECK_ASSUMPTIONS = "check-assumptions"
    READ_THE_ERROR = "read-the-error"
    ASK_USER = "ask-user"


class RootCauseCategory(StrEnum):
    """The kinds of reasons for a wrong hypothesis."""

    WRONG_ASSUMPTION = "wrong-assumption"
    MISSING_KNOWLEDGE = "missing-knowledge"
    OVERSIGHT = "oversight"
    ENVIRONMENT_ISSUE = "environment-issue"
    MISLEADING_SYMPTOM = "misleading-symptom"
    INCOMPLETE_FIX = "incomplete-fix"
    WRONG_SCOPE = "wrong-scope"
    TEST_ISOLATION = "test-isolation"
    TIMING_ISSUE = "timing-issue"


class OutcomeStatus(StrEnum):
    """The outcomes of a hypothesis."""

    CONFIRMED = "confirmed"
    FALSIFIED = "falsified"
    ABANDONED = "abandoned"


class Axis(StrEnum):
    """A view of an experience that is embedded, searched and clustered separately."""

    FULL = "full"
    STRATEGY = "strategy"
    SURPRISE = "surprise"
    ROOT_CAUSE = "root_cause"


class Tier(StrEnum):
    """How complete and trustworthy an entry is; see `learning_memory_server.model.entry.Ghap.tier`."""

    GOLD = "gold"
    SILVER = "silver"
    BRONZE = "bronze"
    ABANDONED = "abandoned"


class SearchMode(StrEnum):
    """The method that ranked the results of a search."""

    RERANKED = "reranked"
    HYBRID = "hybrid"
    SEMANTIC = "semantic"
    LEXICAL = "lexical"


class ResponseFormat(StrEnum):
    """The level of detail of a reply."""

    CONCISE = "concise"
    DETAILED = "detailed"


class Stance(StrEnum):
    """The relation of a resolved entry to a value."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    NEITHER = "neither"
