"use strict";
// Command errors by project, what cost most first, each with its cure and how often it came lately.

LM.views.push({
  name: "failures",
  title: "Failures",
  say: "Command errors by project, what cost most first, with the cure that agents are told if one comes back.",
  things: () => LM.data.errors,
  empty: ["No failed command is known yet.", "Your client's hooks report new ones. To find those of past Claude Code sessions, run in a project's folder:", "learn-from"],
  count: () => LM.select(LM.data.errors).length,
  draw: (view) => {
    const errors = LM.select(LM.data.errors);
    if (!errors.length) return view.append(LM.nothingFound());
    const cost = (some) => d3.sum(some, (error) => error.times);
    const head = () => LM.make("tr", {}, ["Error", "Cost", "Trend", "Cure"].map((title) => LM.make("th", {scope: "col"}, title)));
    for (const [project, some] of d3.sort(d3.groups(errors, (error) => error.project), ([, some]) => -cost(some))) {
      view.append(LM.make("h3", {class: "group text short", dir: "auto"}, LM.short(project, 80)),
        LM.table(`${LM.count(some.length, "error")} in ${LM.count(d3.sum(some, (error) => error.failures.length), "failed command")}; the cure is known for ${some.filter((error) => error.remedy).length.toLocaleString("en")}.`, head(), LM.byCost(some), LM.errorRow));
    }
  },
});
// What cost most first: how often it was met, then how lately.
LM.byCost = (errors) => [...errors].sort((a, b) => b.times - a.times || (a.last_seen < b.last_seen ? 1 : -1));
LM.errorRow = (error) => LM.make("tr", {"data-error": error.id},
  LM.make("td", {class: "failed"}, LM.thing(error.id, LM.short(error.signature, 200)), LM.make("div", {}, LM.make("code", {class: "text soft", dir: "auto"}, LM.short(error.command, 200)))),
  LM.make("td", {class: "cost"}, LM.count(error.times, "time")),
  LM.make("td", {class: "trend"}, LM.trend(error), LM.make("div", {class: "soft small"}, `last ${LM.date(error.last_seen)}`)),
  LM.make("td", {class: "cure"}, LM.cure(error)));
// The cure that agents are told; else what a person may judge, where no rule says what to tell an agent.
LM.cure = (error) => {
  if (!error.remedy) return error.followed ? [LM.followed(error), LM.judging(error).length ? LM.act(...LM.judging(error)) : null] : LM.make("span", {class: "soft"}, "no cure is known");
  const told = error.failures.filter((failure) => failure.shown);
  return [LM.make("code", {class: "text", dir: "auto"}, LM.plain(error.remedy)), told.length ? LM.make("div", {class: "soft small"}, `told ${LM.count(told.length, "time")}, and ${told.filter((failure) => failure.worked).length} then worked`) : null];
};
LM.followed = (error) => (error.followed ? LM.make("div", {class: "soft small"}, `So far, ${LM.plain(error.followed)}. Agents are told nothing.`) : null);
LM.judging = (error) => { const cure = LM.data.waiting.find((each) => each.error === error.signature && each.project === error.project); return cure ? ["review", cure.id] : []; };

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
  LM.make("div", {class: "facts"}, LM.make("span", {}, `seen ${LM.count(error.times, "time")}`), LM.make("span", {}, `last on ${LM.date(error.last_seen)}`), LM.trend(error), LM.line(error.project, 60)),
  LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(error.signature)),
  LM.make("h3", {}, error.remedy ? "Cure, told if the error comes back" : "Cure"), LM.cure(error),
  LM.make("h3", {}, "Commands that failed with this error"),
  LM.list(error.failures, (failure) => LM.make("li", {},
    LM.make("div", {class: "facts"}, LM.make("span", {}, LM.date(failure.at)), failure.worked ? LM.badge("supported", "fixed") : LM.badge("unattested", "not fixed")),
    LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.command)),
    failure.worked && failure.worked !== failure.command ? LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, "Then this worked: "), LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.worked))) : null,
    failure.shown ? LM.reminder(failure) : null)),
  LM.decisions(["Not worth keeping:", "forget", error.id]),
];
// What was shown when a command failed: the fix of the same error after a similar command.
LM.reminder = (failure) => {
  const before = LM.mending.get(failure.shown);
  const support = typeof failure.support !== "number" ? "" : ` (${LM.percent(failure.support)} of what is known about this error supported it)`;
  return LM.make("div", {class: "items"},
    LM.make("span", {class: "soft small"}, `Shown because it fixed the same error${before ? "" : " before"}${support}: `),
    before?.remedy ? LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.remedy)) : LM.make("span", {class: "soft small"}, before ? "no longer shown" : "forgotten since"),
    before ? LM.make("div", {class: "soft small"}, "instead of ", LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.command))) : null,
    failure.worked ? null : LM.make("div", {class: "soft small"}, "Nothing fixed it this time."),
  );
};
