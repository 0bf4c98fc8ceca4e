"use strict";
// Command errors by project, one line each, what came most first, with what was run next that worked, and its decision.

LM.views.push({
  name: "failures",
  title: "Failures",
  say: "Command errors, what came most first. 12/16: of 16 sessions with the error, that command was the next that worked in 12. Agents are shown none of these figures.",
  things: () => LM.data.errors,
  empty: ["No failed command is known yet.", "Your client's hooks report new ones. To find those of past Claude Code sessions, run in a project's folder:", "learn-from"],
  count: () => LM.select(LM.data.errors).length,
  draw: (view) => {
    const errors = LM.select(LM.data.errors);
    if (!errors.length) return view.append(LM.nothingFound());
    const cost = (some) => d3.sum(some, (error) => error.times);
    const head = () => LM.make("tr", {}, [["failed", "Error"], ["cost", "Times"], ["seen", "Last seen"], ["followed", "Worked next"], ["decision", "Decision"]].map(([name, title]) => LM.make("th", {scope: "col", class: name}, title)));
    for (const [project, some] of d3.sort(d3.groups(errors, (error) => error.project), ([, some]) => -cost(some))) {
      view.append(LM.make("h3", {class: "group text short", dir: "auto"}, LM.short(project, 80)),
        LM.table(`${LM.count(some.length, "error")} in ${LM.count(d3.sum(some, (error) => error.failures.length), "failed command")}.`, head(), LM.byCost(some), LM.errorRow, "errors", 20));
    }
  },
});
// What came most first: how often, then how lately.
LM.byCost = (errors) => [...errors].sort((a, b) => b.times - a.times || (a.last_seen < b.last_seen ? 1 : -1));
LM.errorRow = (error) => LM.make("tr", {"data-error": error.id},
  LM.make("td", {class: "failed", title: LM.short(error.line, 400)}, LM.thing(error.id, LM.short(error.line, 200))),
  LM.make("td", {class: "cost", "data-title": "Times"}, error.times.toLocaleString("en")),
  LM.make("td", {class: "seen", "data-title": "Last seen"}, LM.date(error.last_seen)),
  LM.make("td", {class: "followed", "data-title": "Worked next", title: error.followed && LM.short(error.followed, 400)}, error.followed ? LM.make("div", {}, LM.make("code", {class: "text", dir: "auto"}, LM.short(error.followed, 120)), LM.make("span", {class: "share"}, LM.sessionsOf(error))) : LM.make("span", {class: "soft"}, "nothing")),
  LM.make("td", {class: "decision"}, LM.errorChoices(error)));
// Past sessions may have suggested a rule about the same error, or about the command that failed with it.
LM.suggestionFor = (error) => LM.data.past.find((line) => line.suggestion && line.project === error.project && (line.error === error.line || line.command === error.command));
LM.errorChoices = (error) => {
  const line = LM.suggestionFor(error), suggestion = line && LM.data.waiting.find((each) => each.id === line.suggestion);
  return [suggestion ? LM.choices(suggestion, suggestion.text, "yes", "no", "later") : null, LM.choices(error, error.line, "forget")];
};
// Which command worked next in most sessions, and after how many of those the error stayed away.
LM.followed = (error) => (error.followed
  ? LM.make("span", {}, LM.make("code", {class: "text", dir: "auto"}, LM.short(error.followed, 200)), ` worked next in ${LM.sessionsOf(error)} sessions; the error stayed away in ${error.stayed_away.toLocaleString("en")}`)
  : LM.make("span", {class: "soft"}, "nothing worked soon after"));
LM.sessionsOf = (error) => `${error.followed_in.toLocaleString("en")}/${error.sessions.toLocaleString("en")}`;

// How many commands failed with an error in each of the last six weeks.
LM.weekly = (error) => {
  const counts = Array(6).fill(0);
  error.failures.forEach((failure) => { const week = Math.floor(Math.max(LM.madeAt - new Date(failure.at), 0) / (7 * 864e5)); if (week < 6) counts[5 - week] += 1; });
  return counts;
};
LM.trend = (error) => {
  const counts = LM.weekly(error), most = Math.max(...counts);
  return most === 0 ? null : LM.make("span", {class: "bars", role: "img", "aria-label": `Failed commands of the last six weeks, oldest first: ${counts.join(", ")}`}, counts.map((count) => LM.make("i", {style: {height: `${(100 * count) / most}%`}})));
};
LM.trendWords = (error) => { const [before, now] = LM.weekly(error).slice(-2); return now || before ? `${now} this week, ${before} last week.` : `Not since ${LM.date(error.last_seen)}.`; };

LM.errorParts = (error) => [
  LM.make("div", {class: "facts"}, LM.make("span", {}, `seen ${LM.count(error.times, "time")} in ${LM.count(error.sessions, "session")}`), LM.make("span", {}, `last on ${LM.date(error.last_seen)}`), LM.trend(error), LM.line(error.project, 60)),
  LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(error.line)),
  LM.make("h3", {}, "What worked next"), LM.followed(error),
  LM.make("h3", {}, "Commands that failed with this error"),
  LM.list(error.failures, (failure) => LM.make("li", {},
    LM.make("div", {class: "facts"}, LM.make("span", {}, LM.date(failure.at))),
    LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.command)),
    failure.worked && failure.worked !== failure.command ? LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, "Next this worked: "), LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.worked))) : null)),
  LM.errorDecision(error),
];
// In the panel, the sentence that a yes is about is there to read.
LM.errorDecision = (error) => {
  const line = LM.suggestionFor(error);
  return [LM.make("h3", {}, "Decision"), line && LM.data.waiting.some((each) => each.id === line.suggestion) ? LM.make("p", {}, "Remind agents: ", LM.line(`${line.label}: ${line.text}`, 300)) : null, LM.make("div", {class: "decision"}, LM.errorChoices(error))];
};
