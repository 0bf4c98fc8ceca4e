"""What benchmarks share: the command line, works that take turns, what a process uses, and goals."""

import argparse
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

Figure = TypeVar("Figure")


class Option(NamedTuple):
    """An option of a benchmark.

    Args:
        default: Its default, which says its type: a tuple takes several, False is a flag, and a type has none.
        about: What it is.
        is_needed: Whether there is no run without it.
    """

    default: Any
    about: str | None = None
    is_needed: bool = False


def options_of(about: str | None, **options: object) -> argparse.Namespace:
    """Read the command line of a benchmark, with `--json` for one object on the last line.

    Args:
        about: The benchmark's text.
        options: By name, an `Option` or only its default.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, given in ({"json": Option(False, "print the report as the last line")} | options).items():
        default, told, is_needed = given if isinstance(given, Option) else Option(given)
        flag = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(flag, action="store_true", help=told)
        elif isinstance(default, tuple):
            parser.add_argument(flag, type=type(default[0]), nargs="*", default=default, help=told)
        elif isinstance(default, type):
            parser.add_argument(flag, type=default, required=is_needed, help=told)
        else:
            shown = f"{told} (default: %(default)s)" if told else None
            parser.add_argument(flag, type=type(default), default=default, help=shown)
    return parser.parse_args()


def taking_turns(works: Mapping[str, Callable[[], Figure]], rounds: int, warm_up: int = 1) -> dict[str, list[Figure]]:
    """Return what each work returns in each round, such as its seconds; taking turns, all run under the same load.

    The first rounds warm up the file cache and are not counted.
    """
    found: dict[str, list[Figure]] = {name: [] for name in works}
    for number in range(-warm_up, rounds):
        for name, work in works.items():
            figure = work()
            if number >= 0:
                found[name].append(figure)
    return found


def timed(work: Callable[[], object]) -> float:
    """Return the seconds the work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values is."""
    return sorted(values)[int(share * len(values))]


def show(
    figures: Mapping[str, float],
    at_most: Mapping[str, float] = MappingProxyType({}),
    at_least: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Print figures, and whether they reach their goals."""
    for name, figure in figures.items():
        verdict = ""
        if name in at_most:
            verdict = f"   at most {at_most[name]:g}: {'yes' if figure <= at_most[name] else 'NO'}"
        elif name in at_least:
            verdict = f"   at least {at_least[name]:g}: {'yes' if figure >= at_least[name] else 'NO'}"
        print(f"  {name:32} {figure:10.2f}{verdict}", flush=True)


def resident(process: int | str | None, field: str = "VmRSS") -> float:
    """Return a process's resident memory, in MiB; `self` is this one."""
    for line in Path(f"/proc/{process}/status").read_text("ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {process} has no {field}")


def peak_megabytes() -> float:
    """Return the peak memory of this process, also where there is no /proc."""
    try:
        return resident("self", "VmHWM")
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1 << 20 if os.uname().sysname == "Darwin" else 1 << 10)


def processor_seconds(process: int | None) -> tuple[float, float]:
    """Return the CPU seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    own, own_system, children, children_system = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15])
    return own + own_system, children + children_system


def own_processor_seconds() -> tuple[float, float]:
    """Return the same of this process, which is finer, and of its children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    own, children = (each.ru_utime + each.ru_stime for each in used)
    return own, children
