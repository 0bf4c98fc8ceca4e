"use strict";
// The overview: how this week went against last week, and what waits for a decision, each with the command that makes it.

LM.views.push({
  name: "overview",
  title: "Overview",
  say: "How this week went, what waits for you, and what keeps going wrong, with the command for each decision.",
  // What was found takes its place.
  isHidden: () => LM.words.length > 0,
  draw: (view) => {
    const [entries, open, errors] = [LM.data.entries, LM.select(LM.data.open), LM.data.errors].map((things) => things.filter(LM.isOfProject));
    if (!entries.length && !open.length && !errors.length) {
      view.append(LM.nothing("Nothing is stored yet.", "Add this memory to your agent, and let it learn from past sessions. In a project's folder, run:", "start"));
      return;
    }
    view.append(...LM.kept(LM.weeks(entries, errors)), LM.make("div", {class: "columns"},
      LM.make("div", {class: "stack"}, ...LM.kept(LM.overviewWaiting(), LM.overviewOpen(open), LM.overviewLearned(entries))),
      LM.make("div", {class: "stack"}, ...LM.kept(LM.overviewRecurs(entries, errors), LM.overviewTold(), LM.overviewStale(entries))),
    ), LM.totals(entries, open, errors));
  },
});

// This week's figures, with last week's below. An error was seen before if an earlier command failed with it.
LM.weeks = (entries, errors) => {
  const failures = errors.flatMap((error) => [...error.failures].reverse().map((failure, at, all) => ({...failure, at: new Date(failure.at), isAgain: at > 0 || all.length < error.times})));
  const ofWeek = (things, week) => things.filter((thing) => Math.floor(Math.max(LM.madeAt - thing.at, 0) / (7 * 864e5)) === week).length;
  const fact = (name, things) => LM.make("div", {}, LM.make("dt", {}, name), LM.make("dd", {}, ofWeek(things, 0).toLocaleString("en"), LM.make("small", {}, `last week ${ofWeek(things, 1).toLocaleString("en")}`)));
  // After an import of old entries there is nothing to compare.
  return [0, 1].some((week) => ofWeek([...entries, ...failures], week)) && LM.make("dl", {class: "figures", "aria-label": "This week"},
    fact("New lessons this week", entries.filter(LM.takeaway)),
    fact("Command errors", failures),
    fact("Of these, seen before", failures.filter((failure) => failure.isAgain)),
  );
};
LM.told = () => (Object.hasOwn(LM.data.shown, LM.at.project ?? "") ? LM.data.shown[LM.at.project ?? ""] : {times: 0, helped: 0, misled: 0, words: "nothing yet"});
LM.totals = (entries, open, errors) => {
  const by = (status) => `${entries.filter((entry) => entry.outcome_status === status).length.toLocaleString("en")} ${status}`;
  return LM.make("p", {class: "totals soft small"}, `In all: ${LM.count(entries.length, "entry", "entries")} (${Object.keys(LM.outcomes).map(by).join(", ")}), ${open.length.toLocaleString("en")} open; ${LM.count(errors.length, "command error")} in ${LM.count(d3.sum(errors, (error) => error.failures.length), "failed command")}; told unasked: ${LM.told().words}.`);
};

// A line of the overview: what there is to know, more about it, and the command that decides.
LM.fact = (line, more, ...words) => LM.make("li", {}, LM.make("div", {}, line), more && LM.make("div", {class: "soft small"}, more), words.length ? LM.act(...words) : null);
LM.overviewCard = (title, ...lines) => LM.card(title, null, LM.make("ul", {class: "rows tight"}, lines));

// What agents are told only if a person says yes: lessons of others, and imported ones.
LM.overviewWaiting = () => {
  const waiting = LM.data.waiting.filter(LM.isOfProject);
  if (!waiting.length) return null;
  return LM.card(`Waiting for your yes: ${waiting.length.toLocaleString("en")}`, "Agents are told these only if you agree. Run the command in the project's folder.",
    LM.list(waiting, (each) => LM.fact(LM.number.has(each.id) || LM.sharedLesson.has(each.id) ? LM.thing(each.id, LM.short(each.text, 200)) : LM.line(each.text, 200),
      LM.plain(each.fared), "review", each.id), "rows tight", 3));
};

LM.overviewOpen = (open) => {
  const days = (entry) => Math.floor((LM.madeAt - new Date(entry.created_at)) / 864e5);
  if (!open.length) return null;
  return LM.card(`Open: ${LM.count(open.length, "entry", "entries")}`, "Started and not resolved, oldest first. The agent that comes back to it says how it ended; close what nobody comes back to.",
    LM.list([...open].reverse(), (entry) => LM.fact(LM.thing(entry.id, LM.short(entry.goal, 140)), [days(entry) < 1 ? "since today" : `for ${LM.count(days(entry), "day")}`, LM.projects.length > 1 ? [", ", LM.line(entry.project, 60)] : null], "resolve", entry.id, "abandoned"), "rows tight", 3));
};

// This week's lessons, those first that helped most, then those that surprised.
LM.overviewLearned = (entries) => {
  const taught = entries.filter(LM.takeaway);
  const week = taught.filter((entry) => LM.madeAt - entry.at <= 7 * 864e5);
  const helped = (entry) => LM.effects.get(entry.id)?.helped ?? 0;
  const best = [...(week.length ? week : taught.slice(0, 3))].sort((a, b) => helped(b) - helped(a) || Boolean(b.surprise) - Boolean(a.surprise) || b.at - a.at).slice(0, 3);
  if (!best.length) return null;
  return LM.overviewCard(week.length ? "Learned this week" : "Learned last (nothing this week)",
    ...best.map((entry) => LM.fact([LM.sign(LM.outcomes[entry.outcome_status]), " ", LM.thing(entry.id, LM.short(LM.takeaway(entry), 200))], LM.line(entry.goal, 110))),
    week.length > 3 ? LM.make("li", {class: "small"}, LM.anchor({view: "entries", days: "7"}, {}, `${(week.length - 3).toLocaleString("en")} more this week`)) : null);
};

// The largest clusters of reasons, which are the same only if their texts are, else the most frequent kind of reason; and
// the errors that cost most.
LM.clusterTitle = (axis, cluster, size = cluster.size) => (axis !== "root_cause" ? `${LM.count(size, "entry", "entries")} about ` : cluster.is_one_text ? `Wrong for the same reason ${LM.count(size, "time")}: ` : `${LM.count(size, "wrong guess", "wrong guesses")} about `);
LM.overviewRecurs = (entries, errors) => {
  const numbers = new Set(entries.map((entry) => LM.number.get(entry.id)));
  const clusters = LM.data.axes.root_cause.clusters.map((cluster) => ({cluster, members: cluster.members.filter((number) => numbers.has(number))})).filter(({members}) => members.length);
  const lines = d3.sort(clusters, ({members}) => -members.length).slice(0, 2).map(({cluster, members}) => {
    const lesson = members.map((number) => LM.data.entries[number]).find((entry) => entry.lesson?.takeaway);
    return LM.fact([LM.clusterTitle("root_cause", cluster, members.length), LM.clusterLink("root_cause", cluster)], cluster.takeaway ? LM.line(cluster.takeaway, 160) : `${LM.count(cluster.last_30_days, "time")} in the last 30 days`, ...(lesson ? ["share", lesson.id] : []));
  });
  const [kind, times] = d3.greatest(d3.rollups(entries.filter((entry) => entry.root_cause), (some) => some.length, (entry) => entry.root_cause.category), ([, count]) => count) ?? [];
  if (!lines.length && kind) lines.push(LM.fact(["The most frequent root cause: ", LM.make("strong", {}, kind)], `${LM.count(times, "entry", "entries")}, too few of them alike to form a cluster`));
  for (const error of LM.byCost(errors).slice(0, 3)) lines.push(LM.fact(["Failed ", LM.make("strong", {}, LM.count(error.times, "time")), ": ", LM.thing(error.id, LM.short(error.line, 110))], [LM.trendWords(error), " ", error.followed ? LM.followed(error) : null]));
  return lines.length ? LM.overviewCard("What recurs", ...lines) : null;
};

LM.overviewTold = () => {
  const things = (effect) => [...LM.effects].filter(([id, counts]) => counts[effect] && (LM.number.has(id) || LM.value.has(id)) && LM.isOfProject(LM.data.entries[LM.number.get(id)] ?? LM.value.get(id)));
  const line = (effect, name, act) => {
    const [id, counts] = d3.greatest(things(effect), ([, counts]) => counts[effect]) ?? [];
    if (!id) return null;
    const entry = LM.data.entries[LM.number.get(id)];
    return LM.fact([`${name} ${LM.count(counts[effect], "time")}: `, LM.thing(id, LM.short(entry ? LM.takeaway(entry) || entry.goal : LM.value.get(id).text, 140))], null, ...act(id, counts));
  };
  const told = LM.told();
  if (!told.times) return null;
  return LM.overviewCard("What helped, and what misled", LM.fact(["Told ", LM.make("span", {class: "told"}, told.words), "."], LM.anchor({view: "advice"}, {}, "What was said, and what came of it")),
    line("helped", "Helped most,", (id) => ["share", id]), line("misled", "Misled most,", (id) => LM.wrong(id)));
};

LM.overviewStale = (entries) => {
  const stale = entries.filter((entry) => LM.isStale(entry) && !entry.never);
  if (!stale.length) return null;
  return LM.card(`Stale: ${LM.count(stale.length, "lesson")}`, "Their files changed or are gone, or a later entry contradicts them.",
    LM.list(stale, (entry) => LM.fact(LM.thing(entry.id, LM.short(LM.takeaway(entry) || entry.goal, 140)), LM.staleWords(entry), ...LM.wrong(entry.id)), "rows tight", 2));
};
