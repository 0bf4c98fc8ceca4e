"""`rule show` and `rule test`: everything about one rule, and what an agent would see of it."""

@commands.command(example="3f2a91")
async def show(name: IdArgument) -> None:
    """Show everything about one rule: your words, where it applies, how it fared, and what agents see."""
    settings = open_settings()
    stored = Offline(settings)
    found = find_rule(stored, name)
    counts = stored.rule_counts.about(found.id)
    last = next((each.call for each in reversed(counts) if each.call), "")
    unattended = "stopped" if found.unattended is Unattended.STOP else "run, with a reminder"
    enforced = f"yes: you are asked before a call that breaks it; where nobody can be asked, it is {unattended}"
    seen, asks = await _seen(settings, found)
    out.facts(
        [
            *facts_of(found),
            ("state", f"{found.state}, {out.date(found.changed_at)}"),
            ("enforced", enforced if found.is_enforced else None),
            ("before", rule_views.before_of(found)),
            ("since", rule_views.since_of(stored.rule_counts.fared([found])[found.id])),
            *(
                ("", f"{out.date(each.created_at)}  {_counts(each)}  {out.one_line(each.call)}")
                for each in counts[-_SESSIONS:]
            ),
            ("last", f"`{out.one_line(last)}` broke it" if last else None),
            ("you see" if asks else "agents see", seen or "nothing"),
        ]
    )


async def _seen(settings: Settings, found: Rule, command: str = "", file: str = "", text: str = "") -> tuple[str, bool]:
    """Return what is seen of a rule, as the hooks would say it, and whether by a person who is asked."""
    folder = str(folder_of(os.environ)) if found.project == current_project(settings) else ""
    path = str(Path.cwd() / file) if file else ""
    async with open_connection(settings, "rule") as connection:
        reply = await connection.run(
            "what_agents_see", name=found.id, folder=folder, command=command, file=path, text=text
        )
    return str(reply["text"]).strip(), bool(reply["asks"])


def facts_of(found: Rule, *, is_new: bool = False) -> list[Fact]:
    """Return a rule as a person decides about it: what it says, whose it is, when and where."""
    at = found.origin.at
    origin = f"{rule_views.whose(found.origin)}{f', {out.date(at)}' if at else ''}"
    return [
        ("rule", None if is_new else out.identity(found.id)),
        ("text", found.text),
        ("words", f"{found.words}{f' ({out.date(at)})' if at else ''}" if found.words else None),
        ("from", None if is_new else origin),
        ("when", rule_views.when_of(found)),
        ("where", rule_views.where_of(found)),
    ]


def _counts(each: RuleCount) -> str:
    return f"{each.followed:,} followed, {each.reminded:,} reminded, {each.broken:,} broken"


@commands.command("test", example="3f2a91 'git push --force'")
async def attempt(
    name: IdArgument,
    command: Annotated[str, typer.Argument(metavar="[COMMAND]", help="A command, in quotes.")] = "",
    file: Annotated[str, typer.Option("--file", metavar="PATH", help="A file that an agent would edit.")] = "",
    text: Annotated[str, typer.Option("--text", help="With --file: what the edit writes.")] = "",
) -> None:
    """Show what an agent would see of a rule before a command, or before an edit of a file: nothing is run."""
    if bool(command) is bool(file):
        raise InvalidInputError("Give either a COMMAND or a --file.")
    settings = open_settings()
    found = find_rule(Offline(settings), name)
    if found.state is not RuleState.ACCEPTED:
        out.say(f"Nothing: the rule is {found.state}.")
        return
    seen, asks = await _seen(settings, found, command, file, text)
    if asks:
        out.say("You are asked, in Claude Code:", "bold")
    out.say(seen or f"Nothing: this does not break the rule. Agents see it {rule_views.when_of(found)}.")
