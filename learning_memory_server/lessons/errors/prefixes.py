"""What programs that run other programs write before each line of these: names, numbers and times."""

import re
from typing import Final

_TASKS: Final = "build|test|lint|dev|start|check|typecheck|type-check|e2e|watch|serve|compile"
_PREFIX: Final = re.compile(
    r"(?:"
    # Containers of a composition, and processes of a Procfile: `web-1  | `, `web.1 | `, `0|web  | `
    r"(?:\d{1,3}\|)?[A-Za-z][\w.-]{0,80}(?:(?<=[-_.]\d) +|(?<=[-_.]\d\d) +| {2,})\|(?: |$)"
    r"|\[(?:pod|container)/[^\]\s]{1,160}\] "
    # Steps of a pipeline, as GitHub's client shows them, before their times.
    r"|[^\t\n]{1,100}\t[^\t\n]{1,100}\t(?=\ufeff?\d{4}-\d\d-\d\dT)"
    # Times of pipelines, containers and logs; GitLab's have a stream after them.
    r"|\ufeff?\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: \d\d[OE]\+?)?(?: |$)"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]? "
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:[\w.-]{1,64} [\w./-]{1,64}(?:\[\d+\])?: )?"
    r"|(?:app|heroku)\[[\w.-]{1,40}\]: "
    # Processes that run side by side: `[0] `, `[web] `
    r"|\[(?:\d{1,3}|(?!error|fatal|warn|info|debug|trace|fail)[a-z][\w:.-]{0,30})\] "
    # Steps of a build of an image: `#12 3.456 `
    r"|#\d{1,3} (?:\d{1,5}\.\d{1,3} |(?=ERROR))"
    # Packages of a workspace: `web:build: `, `packages/web test: `
    rf"|@?[\w./-]{{1,80}}[: ](?:{_TASKS}): "
    r"|##\[error\]"
    r")"
)
_MOST: Final = 4  # Prefixes in a row


def without_prefixes(line: str) -> str:
    """Return a line of an output as the program wrote it, whose output it was."""
    for _ in range(_MOST):
        found = _PREFIX.match(line)
        if found is None:
            break
        line = line[found.end() :]
    return line
