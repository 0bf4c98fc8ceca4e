"""Redaction: how many secrets of each kind are found, how many harmless texts are changed, and how long it takes.

`python -m benchmarks.redaction [--json]`. The last line with --json is one object.

Three sets with other sentences and other seeds. A secret counts as found if no ten characters of it in a row are left.
"""

import json
import statistics
import time
from collections import Counter, defaultdict
from typing import Any, Final

from benchmarks.measuring import Option, options_of
from benchmarks.secret_texts import SUITES, Case, Suite, harmless_texts, secret_cases
from learning_memory_server.redaction.base import Redactor
from learning_memory_server.redaction.redactor import build_redactor

GOALS: Final = {"recall": 0.97, "changed": 0.001}
PIECE: Final = 10


def main() -> None:
    """Print the figures."""
    options = options_of(__doc__, missed=Option(False, "print what was missed, and what was changed"))
    redactor = build_redactor()
    report = {name: measured(redactor, suite, verbose=options.missed) for name, suite in SUITES.items()}
    for title, figures in report.items():
        print_figures(title, figures)
    if options.json:
        print(json.dumps(report))


def measured(redactor: Redactor, suite: Suite, *, verbose: bool) -> dict[str, Any]:
    """Return recall by kind, the share of harmless texts changed, and times."""
    cases, harmless = secret_cases(suite), harmless_texts(suite)
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    seconds = []
    for case in cases:
        begun = time.perf_counter()
        text = redactor.redact(case.text).text
        seconds.append(time.perf_counter() - begun)
        total[case.kind] += 1
        found[case.kind] += not left_of(case, text)
        if verbose and left_of(case, text):
            print(f"missed {case.kind}: {case.text[:160]!r} -> {text[:160]!r}")
    changed = [text for text in harmless if redactor.redact(text).text != text]
    if verbose:
        for text in changed:
            print(f"changed {text[:160]!r} -> {redactor.redact(text).text[:160]!r}")
    large = ("\n".join(harmless) + "\n") * (1 + 1_000_000 // sum(map(len, harmless)))
    begun = time.perf_counter()
    redactor.redact(large[:1_000_000])
    taken = time.perf_counter() - begun
    return {
        "secrets": len(cases),
        "kinds": len(total),
        "recall": sum(found.values()) / len(cases),
        "recall_by_kind": {kind: found[kind] / count for kind, count in sorted(total.items())},
        "harmless": len(harmless),
        "changed": len(changed) / len(harmless),
        "ms_a_text": 1000 * statistics.median(seconds),
        "ms_a_megabyte": 1000 * taken,
    }


def left_of(case: Case, text: str) -> bool:
    """Return whether ten characters of the secret in a row are left, or all of one that is shorter."""
    size = min(PIECE, len(case.secret))
    around = case.text.replace(case.secret, "")
    return any(
        case.secret[start : start + size] in text
        for start in range(len(case.secret) - size + 1)
        if case.secret[start : start + size] not in around
        and "PRIVATE KEY" not in case.secret[start : start + 3 * size]
    )


def print_figures(title: str, figures: dict[str, Any]) -> None:
    """Print one way's figures."""
    print(
        f"{title}: recall {figures['recall']:.3f} of {figures['secrets']} secrets of {figures['kinds']} kinds (goal "
        f"{GOALS['recall']}), {100 * figures['changed']:.2f} % of {figures['harmless']} harmless texts changed (goal "
        f"{100 * GOALS['changed']:.1f}), {figures['ms_a_text']:.2f} ms a text, {figures['ms_a_megabyte']:.0f} ms a megabyte"
    )
    by_recall = defaultdict(list)
    for kind, recall in figures["recall_by_kind"].items():
        by_recall[recall].append(kind)
    for recall in sorted(by_recall):
        kinds = by_recall[recall]
        print(f"  {recall:.2f}: " + (f"{len(kinds)} kinds" if recall == 1 else ", ".join(kinds)))


if __name__ == "__main__":
    main()
