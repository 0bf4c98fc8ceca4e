"""Rules about git and GitHub: pushing, staging, branches, options and timing."""

import re
from collections.abc import Iterator
from typing import Final

from learning_memory_server.model.rule import CallForm, Pattern
from learning_memory_server.rules.forms import phrases, signs, vocabulary
from learning_memory_server.rules.forms.commands import CODE, forbidden
from learning_memory_server.rules.forms.sentences import Sentence
from learning_memory_server.rules.forms.vocabulary import ADD, COMMIT, MERGE, PUSH

_VERB: Final = "|".join(phrases.VERBS.values())
_OBJECT: Final = (
    r"(?:\s+(?:changes?|commits?|work|code|branch(?:es)?|packages?|releases?|(?:with|via|using) git|to|on|into|remote|origin|upstream|github|"
    r"gitlab|git|live|site|prod|production|npm|repo\w*|server|app|pypi|crates\.io|remotes?))*"
)
_DOING: Final = re.compile(
    rf"(?:run |running |do |perform |execute |use |make |attempt to |try to )*(?:{_VERB}){_OBJECT}"
    rf"(?:(?:\s*(?:,|/|,? or|,? and|,? nor)\s*)(?:run )?(?:{_VERB}){_OBJECT})*",
    re.IGNORECASE,
)
_FLAT: Final = {"push", "commit"} | {"amend", "rebase"}


def unasked(sentence: Sentence) -> Pattern | None:
    """Match "never push without asking", "only commit when I ask", "ask before you deploy", and "never push"."""
    for ban in sentence.bans():
        if not _DOING.fullmatch(ban.bare) or f"{ban.what}:" in sentence.text:  # A list of the exact calls follows
            continue
        others = [each for each in CODE.findall(sentence.text) if f"`{each}`" not in ban.what]
        if not ban.is_asked and any(re.search(_VERB, each) for each in others):
            continue  # One command instead of another
        things = list(_things(ban.bare))
        if things and (ban.is_asked or set(things) <= _FLAT):
            return _pattern(things, is_asked=ban.is_asked)
    for each in phrases.UNASKED:
        if found := re.search(each, sentence.text, re.IGNORECASE):
            things = [name for name, words in phrases.DOINGS.items() if re.search(words, found[0], re.IGNORECASE)]
            return _pattern(things, is_asked=True) if things else None
    return None


def _things(core: str) -> Iterator[str]:
    for name, words in reversed(phrases.VERBS.items()):  # "amend commits" before "commits"
        core, found = re.subn(rf"(?<!\w)(?:{words})(?!\w)", " ", core, flags=re.IGNORECASE)
        if found:
            yield name


def _pattern(things: list[str], *, is_asked: bool) -> Pattern:
    forms = tuple(form for name in things for each in vocabulary.ASKING[name] for form in _deploys(each))
    words = tuple(dict.fromkeys(word for name in things for word in signs.ASKED[name])) if is_asked else ()
    return Pattern(forms, asked=words)


def _deploys(command: str) -> tuple[CallForm, ...]:
    """Return the call forms of a command that deploys, without dry runs and read-only calls."""
    words = tuple(command.split())
    if words[0] in {"git", "gh"}:
        return forbidden(command)
    return (CallForm(words, lacking=(*vocabulary.DRY, *vocabulary.LOOKS.get(words[:1], ()))),)


_FORCE: Final = re.compile(
    r"force[- ]?push\w*|push\w*(?: \w+){0,3}? (?:with |using )?`?(?:--force|-f)\b(?!-)|\bforce push|`?--force`?(?![\w-])",
    re.IGNORECASE,
)
_FORCE_NAMED: Final = re.compile(r"(?<![\w-])(?:--force|-f)(?![\w-])")
_FORCE_REST: Final = re.compile(
    r"(?:\b(?:use|run|do|git|with|or|and|to|using|commits?|history|branch(?:es)?|remote|origin|shared|protected|on|when|push(?:ing|es)?|it|them|gh|github)\b|"
    r"-{0,2}force-with-lease|--force|-f\b|[`/,.!()\s\"'|-])*",
    re.IGNORECASE,
)
_LEASE: Final = "with-lease"
_LEASE_TOO: Final = re.compile(
    r"\b(?:includ\w+|even|not even|also|same for|nor|neither)\b[^.;]{0,25}with-lease", re.IGNORECASE
)


def force(sentence: Sentence) -> Pattern | None:
    """Match "never force push", "no `git push --force`"; limited to certain branches if the sentence names some."""
    for ban in sentence.bans(but=r"lease"):
        if not _FORCE.search(ban.core) or not re.search(r"push", sentence.text, re.IGNORECASE):
            continue
        branches = tuple(dict.fromkeys(re.findall(phrases.BRANCHES, ban.what)))
        rest = re.sub(phrases.BRANCHES, " ", _FORCE.sub(" ", ban.core))
        if not _FORCE_REST.fullmatch(rest) or (not branches and re.search(r"\b(?:shared|protected)\b", rest)):
            continue
        options = ["--force", "-f"]
        is_lease_meant = _LEASE in ban.what or _LEASE_TOO.search(sentence.text)
        if is_lease_meant or not (_LEASE in sentence.text or _FORCE_NAMED.search(ban.what)):
            options.append("--force-with-lease")
        asked = signs.ASKED["force"] if ban.is_asked else ()
        return Pattern(tuple(_forced(options, branches)), asked=asked)
    return None


def _forced(options: list[str], branches: tuple[str, ...]) -> Iterator[CallForm]:
    if branches:
        yield from (CallForm((*PUSH, each), branches) for each in options)
        yield CallForm(PUSH, tuple(f"+{each}" for each in branches))
    else:
        yield CallForm(PUSH, (*options, "+*"))


_TO_BRANCH: Final = re.compile(
    rf"(?:use |run |make |do )*(?:(?:direct )?(?:`?git push`?|push\w*|commit\w*|merg\w+|work\w*|changes?)(?:[\s,/]|\b(?:or|and|nor)\b)*)+"
    rf"(?:\s*(?:changes|code|commits|work|pushes))*\s*(?:to|on|into|against|onto)\s+(?:`?origin`? )?(?P<names>(?:`?(?:origin/)?(?:{phrases.BRANCHES})`?(?:\s*(?:,|/|,? or|,? and|,? nor)?\s*(?:to |on )?)?)+)"
    r"(?:branch(?:es)?)?",
    re.IGNORECASE,
)
_PUSH_CODE: Final = re.compile(
    rf"(?:use |run |do )*`git push (?:-\w+ )?origin (?P<names>{phrases.BRANCHES})`", re.IGNORECASE
)
_PUSH_BRANCH: Final = re.compile(
    rf"push(?:ing)? `?(?P<names>{phrases.BRANCHES})`?(?: branch)?(?: to (?:remote|origin|github))?", re.IGNORECASE
)
_DIRECTLY: Final = re.compile(
    r"(?:direct )?(?:push\w*|commit\w*)(?:\s*(?:,|/|or|and)\s*(?:push\w*|commit\w*))*(?: to it)?", re.IGNORECASE
)
_PROTECTED: Final = re.compile(r"`?\b(?P<names>main|master)\b`?[^,;]*?\b(?:is|are|branch)\b", re.IGNORECASE)
_OTHERS: Final = r"\b(?:feature|topic|other|your(?: own)?|any) branch|\bprs?\b|pull request|\bbranches\b"


def branch(sentence: Sentence) -> Pattern | None:
    """Match "never push to main", "no direct commits to master": pushes that name the branch."""
    for ban in sentence.bans(but=_OTHERS):
        found = next(filter(None, (form.fullmatch(ban.bare) for form in (_TO_BRANCH, _PUSH_CODE, _PUSH_BRANCH))), None)
        if (
            not found
            and _DIRECTLY.fullmatch(ban.bare)
            and re.search(r"\b(?:direct(?:ly)?|straight|there|to it)\b", ban.what)
        ):
            found = next((each for clause in sentence.clauses if (each := _PROTECTED.match(clause))), None)
        if not found or not re.search(r"push|commit", ban.core, re.IGNORECASE):
            continue
        names = re.findall(phrases.BRANCHES, found["names"], re.IGNORECASE)
        names = ["main" if each == "default branch" else each for each in names]
        asked = signs.ASKED["push"] if ban.is_asked else ()
        is_commit = bool(re.search(r"commit", ban.core, re.IGNORECASE))
        return Pattern(tuple(_to(tuple(dict.fromkeys(names)), is_commit=is_commit)), asked=asked)
    return None


def _to(names: tuple[str, ...], *, is_commit: bool) -> Iterator[CallForm]:
    """Yield the forms of pushes to branches, of commits on them if `is_commit`, and of commits by the GitHub API."""
    yield CallForm(PUSH, names)
    yield CallForm(PUSH, on=names)
    if is_commit:
        yield CallForm(COMMIT, on=names)
    yield from (CallForm(("gh", "api", each), tuple(f"branch={name}" for name in names)) for each in _PUTS)


_PUTS: Final = ("-X=PUT", "--method=PUT")
_ADD_ALL: Final = re.compile(
    r"git add (?:-A|\.|--all|-u|\*)|`(?:-A|--all)`(?=.*\bgit add)|(?<=git add )`?(?:-A|\.|--all)", re.IGNORECASE
)
_ADD_REST: Final = re.compile(
    r"(?:\b(?:use|run|do|stage|staging|broad|such|as|like|bulk|wildcard|commit|with|or|and|nor|via|using|files?|by|blindly|blanket|git|add|to|changes?|commands?)\b|(?<!\w)(?:-A|\.|--all|-u|-am?|\*)(?!\w)|[`/,.!()\s\"'|-])*",
    re.IGNORECASE,
)


def add_all(sentence: Sentence) -> Pattern | None:
    """Match "never `git add -A`", "no `git add .`", and `git commit -a` if the sentence names it."""
    found: list[CallForm] = []
    for ban in sentence.bans():
        if ban.is_asked:
            continue
        if _ADD_ALL.search(ban.core) and _ADD_REST.fullmatch(_ADD_ALL.sub(" ", ban.core)):
            named = [each for each in ("*", "-u") if f"add {each}" in ban.core]
            having = (*vocabulary.ADDS_ALL, *named)
            found.append(CallForm(ADD, having, vocabulary.LOOKS[ADD]))
        if re.search(r"git commit -am?\b", ban.core) and _ADD_REST.fullmatch(
            re.sub("commit|git", " ", _ADD_ALL.sub(" ", ban.core))
        ):
            found.append(CallForm(COMMIT, ("-a", "--all")))
    return Pattern(tuple(dict.fromkeys(found))) if found else None


_THEM: Final = re.compile(r"(?:skip|bypass|disabl|circumvent)\w* (?:them|it|these|those)", re.IGNORECASE)
_HOOKS: Final = re.compile(r"\bhooks?\b", re.IGNORECASE)
_NO_VERIFY: Final = re.compile(
    r"--no-verify|(?:skip|bypass|disabl|circumvent|ignor)\w*(?: \w+){0,2}? ?(?:git |husky |pre-?commit |commit |pre-push )*(?:hooks?|checks)\b",
    re.IGNORECASE,
)
_VERIFY_REST: Final = re.compile(
    r"(?:\b(?:use|run|pass|add|do|skip\w*|bypass\w*|with|using|via|or|and|nor|to|when|git|commit\w*|push\w*|hooks?|pre|flags?|options?|it|them|in|on|by|husky|checks?|of|e\.?g)\b|"
    r"(?<!\w)-n(?!\w)|HUSKY=0|[`/,.!()\s\"'=|-])*",
    re.IGNORECASE,
)


def no_verify(sentence: Sentence) -> Pattern | None:
    """Match "never use --no-verify", "do not skip hooks"; `-n` means the same for a commit only."""
    for ban in sentence.bans():
        is_of_hooks = _NO_VERIFY.search(ban.core) and _VERIFY_REST.fullmatch(_NO_VERIFY.sub(" ", ban.core))
        if not is_of_hooks and not (_THEM.fullmatch(ban.core) and _HOOKS.search(sentence.text)):
            continue
        is_flag = "--no-verify" in ban.what
        of_commit = re.search(r"\bcommit", ban.what, re.IGNORECASE)
        of_push = re.search(r"\bpush", ban.what, re.IGNORECASE)
        forms = [CallForm(COMMIT, ("--no-verify", "-n"))] if of_commit or not (is_flag and of_push) else []
        forms += [CallForm(PUSH, ("--no-verify",))] if of_push or not (is_flag and of_commit) else []
        return Pattern(tuple(forms), asked=signs.ASKED["hooks"] if ban.is_asked else ())
    return None


_SQUASH: Final = re.compile(r"\bsquash\b", re.IGNORECASE)
_ALWAYS: Final = re.compile(r"\b(?:always|only|must|never)\b|^(?:please )?(?:use|do|squash)\b", re.IGNORECASE)
_MERGING: Final = re.compile(r"\bmerg\w+", re.IGNORECASE)


def squash(sentence: Sentence) -> Pattern | None:
    """Match "always squash merge": forbids the options for other kinds of merges."""
    clause = next((each for each in sentence.clauses if _SQUASH.search(each)), "")
    is_wanted = (
        _ALWAYS.search(clause)
        and _MERGING.search(sentence.text)
        and not re.search(
            r"\b(?:never|don't|do not|no|not|avoid) squash|squash\w* (?:is|are) (?:forbidden|not)|\bor\b|\bunless\b|\bif\b|\bexcept|\binto\b|\bcommits before\b|\bfixup|\b(?:allows?|supports?|enabled|configured|can|may)\b",
            clause,
            re.IGNORECASE,
        )
    )
    if not is_wanted or list(sentence.exceptions()):
        return None
    api = CallForm(("gh", "api"), ("merge_method=merge", "merge_method=rebase"))
    return Pattern((CallForm(MERGE, vocabulary.OTHER_MERGES), api))
