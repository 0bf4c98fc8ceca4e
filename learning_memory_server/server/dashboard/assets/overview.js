"use strict";
// The overview: how this week went against last week, and what waits for a decision.

LM.views.push({
  name: "overview",
  title: "Overview",
  say: "How this week went, what waits for you, and what keeps going wrong.",
  // What was found takes its place.
  isHidden: () => LM.words.length > 0,
  draw: (view) => {
    const [entries, open, errors] = [LM.data.entries, LM.select(LM.data.open), LM.data.errors].map((things) => things.filter(LM.isOfProject));
    if (!entries.length && !open.length && !errors.length && !LM.waitingHere().length) {
      view.append(LM.nothing("Nothing is stored yet.", "Add this memory to your agent, and let it learn from past sessions. In a project's folder, run:", "start"));
      return;
    }
    LM.said = new Set();
    // What is about a single lesson comes first in making: the others do not say the same text again.
    const [told, stale] = [LM.overviewTold(), LM.overviewStale(entries)];
    const cards = LM.kept(LM.overviewWaiting(), LM.overviewRecurs(entries, errors), LM.overviewLearned(entries), told, LM.overviewOpen(open), stale);
    view.append(...LM.kept(LM.overviewAgain(), LM.weeks(entries, errors)), LM.make("div", {class: "columns level"}, cards), LM.totals(entries, open, errors));
  },
});

// This week's figures against last week's, and which direction is good. An error was seen before if an earlier command
// failed with it.
LM.weeks = (entries, errors) => {
  const failures = errors.flatMap((error) => [...error.failures].reverse().map((failure, at, all) => ({...failure, at: new Date(failure.at), isAgain: at > 0 || all.length < error.times})));
  const ofWeek = (things, week) => things.filter((thing) => Math.floor(Math.max(LM.madeAt - thing.at, 0) / (7 * 864e5)) === week).length;
  const fact = (name, things, wantsMore, address) => {
    const [now, before] = [ofWeek(things, 0), ofWeek(things, 1)];
    const trend = now === before ? null : now > before === wantsMore ? LM.make("span", {class: "better"}, "better") : LM.make("span", {class: "worse"}, "worse");
    return LM.make("div", {class: "tile"}, LM.make("dt", {}, LM.anchor(address, {}, name)), LM.make("dd", {}, now.toLocaleString("en"), LM.make("small", {}, trend, trend && ": ", `last week ${before.toLocaleString("en")}, ${wantsMore ? "more" : "fewer"} is better`)));
  };
  // After an import of old entries there is nothing to compare.
  return [0, 1].some((week) => ofWeek([...entries, ...failures], week)) && LM.make("dl", {class: "figures", "aria-label": "This week"},
    fact("New lessons this week", entries.filter(LM.takeaway), true, {view: "entries", days: "7"}),
    fact("Command errors", failures, false, {view: "failures"}),
    fact("Of these, seen before", failures.filter((failure) => failure.isAgain), false, {view: "failures"}),
  );
};
LM.told = () => (Object.hasOwn(LM.data.shown, LM.at.project ?? "") ? LM.data.shown[LM.at.project ?? ""] : {times: 0, helped: 0, misled: 0, words: "nothing yet"});
LM.totals = (entries, open, errors) => {
  const by = (status) => `${entries.filter((entry) => entry.outcome_status === status).length.toLocaleString("en")} ${status}`;
  return LM.make("p", {class: "totals soft small"}, `In all: ${LM.count(entries.length, "entry", "entries")} (${Object.keys(LM.outcomes).map(by).join(", ")}), ${open.length.toLocaleString("en")} open; ${LM.count(errors.length, "command error")} in ${LM.count(d3.sum(errors, (error) => error.failures.length), "failed command")}.`);
};

// A line of the overview: what there is to know, more about it, and what can be decided.
LM.fact = (line, more, ...choices) => LM.make("li", {}, LM.make("div", {}, line), more && LM.make("div", {class: "soft small"}, more), ...choices);
LM.overviewCard = (title, ...lines) => LM.card(title, null, LM.make("ul", {class: "rows tight"}, lines));
LM.all = (text, address) => LM.make("p", {class: "small all"}, LM.anchor(address, {}, text));
// A text that the overview has not said yet, else nothing.
LM.once = (text) => {
  if (!text || LM.said.has(text)) return null;
  LM.said.add(text);
  return text;
};

// The worst case: a lesson that an agent had, and that did not help.
LM.overviewAgain = () => {
  const again = LM.data.came_again.map(({id, again_in}) => ({entry: LM.data.entries[LM.number.get(id)], again_in})).filter(({entry}) => LM.isOfProject(entry));
  if (!again.length) return null;
  return LM.card(`Came again although shown: ${again.length.toLocaleString("en")}`, "An agent had been shown the lesson, and says that a later entry is the same. `split ID` takes that back.",
    LM.list(again, ({entry, again_in}) => LM.fact(LM.thing(entry.id, LM.short(LM.takeaway(entry) || entry.goal, 200)), ["Again in ", again_in.flatMap((id, at) => [at ? ", " : null, LM.thing(id, id)])]), "rows tight", 3));
};

LM.overviewWaiting = () => {
  const waiting = LM.waitingHere();
  if (!waiting.length) return null;
  return LM.card(`Waiting for your yes: ${waiting.length.toLocaleString("en")}`, null, LM.make("ul", {class: "rows tight"}, waiting.slice(0, 3).map(LM.waitingRow)), LM.all(`All ${waiting.length.toLocaleString("en")} in Reviews`, {view: "reviews"}));
};

LM.overviewOpen = (open) => {
  const days = (entry) => Math.floor((LM.madeAt - new Date(entry.created_at)) / 864e5);
  if (!open.length) return null;
  return LM.card(`Open: ${LM.count(open.length, "entry", "entries")}`, "Started and not resolved, oldest first. Close what nobody comes back to.",
    LM.list([...open].reverse(), (entry) => LM.fact(LM.thing(entry.id, LM.short(entry.goal, 140)), [days(entry) < 1 ? "since today" : `for ${LM.count(days(entry), "day")}`, LM.projects.length > 1 ? [", ", LM.line(entry.project, 60)] : null], LM.choices(entry, entry.goal, "close")), "rows tight", 3));
};

// This week's lessons, those first that helped most, then those that surprised.
LM.overviewLearned = (entries) => {
  const taught = entries.filter(LM.takeaway);
  const week = taught.filter((entry) => LM.madeAt - entry.at <= 7 * 864e5);
  const helped = (entry) => LM.effects.get(entry.id)?.helped ?? 0;
  const best = [...(week.length ? week : taught.slice(0, 6))].sort((a, b) => helped(b) - helped(a) || Boolean(b.surprise) - Boolean(a.surprise) || b.at - a.at).filter((entry) => LM.once(LM.takeaway(entry))).slice(0, 3);
  if (!best.length) return null;
  const card = LM.overviewCard(week.length ? "Learned this week" : "Learned last (nothing this week)",
    ...best.map((entry) => LM.fact([LM.sign(LM.outcomes[entry.outcome_status]), " ", LM.thing(entry.id, LM.short(LM.takeaway(entry), 200))], LM.line(entry.goal, 110))));
  card.append(LM.key());
  if (week.length > best.length) card.append(LM.all(`All ${week.length.toLocaleString("en")} of this week`, {view: "entries", days: "7"}));
  return card;
};

// The largest clusters of reasons, which are the same only if their texts are, else the most frequent kind of reason; and
// the errors that cost most.
LM.clusterTitle = (axis, cluster, size = cluster.size) => (axis !== "root_cause" ? `${LM.count(size, "entry", "entries")} about ` : cluster.is_one_text ? `Wrong for the same reason ${LM.count(size, "time")}: ` : `${LM.count(size, "wrong guess", "wrong guesses")} about `);
LM.overviewRecurs = (entries, errors) => {
  const numbers = new Set(entries.map((entry) => LM.number.get(entry.id)));
  const clusters = LM.data.axes.root_cause.clusters.map((cluster) => ({cluster, members: cluster.members.filter((number) => numbers.has(number))})).filter(({members}) => members.length);
  const lines = d3.sort(clusters, ({members}) => -members.length).slice(0, 2).map(({cluster, members}) => LM.fact(
    [LM.clusterTitle("root_cause", cluster, members.length), LM.clusterLink("root_cause", cluster)],
    LM.once(cluster.takeaway) ? LM.line(cluster.takeaway, 160) : `${LM.count(cluster.last_30_days, "time")} in the last 30 days`));
  const [kind, times] = d3.greatest(d3.rollups(entries.filter((entry) => entry.root_cause), (some) => some.length, (entry) => entry.root_cause.category), ([, count]) => count) ?? [];
  if (!lines.length && kind) lines.push(LM.fact(["The most frequent root cause: ", LM.make("strong", {}, kind)], `${LM.count(times, "entry", "entries")}, too few of them alike to form a cluster`));
  for (const error of LM.byCost(errors).slice(0, 3)) lines.push(LM.fact(["Failed ", LM.make("strong", {}, LM.count(error.times, "time")), ": ", LM.thing(error.id, LM.short(error.line, 110))], [LM.trendWords(error), " ", error.followed ? LM.followed(error) : null]));
  if (!lines.length) return null;
  const card = LM.overviewCard("What recurs", ...lines);
  card.append(LM.make("p", {class: "small all"}, clusters.length ? [LM.anchor({view: "clusters", axis: "root_cause"}, {}, `All ${LM.count(clusters.length, "cluster")} of reasons`)] : null, errors.length ? LM.anchor({view: "failures"}, {}, `All ${LM.count(errors.length, "error")}`) : null));
  return card;
};

LM.overviewTold = () => {
  const things = (effect) => [...LM.effects].filter(([id, counts]) => counts[effect] && (LM.number.has(id) || LM.value.has(id)) && LM.isOfProject(LM.data.entries[LM.number.get(id)] ?? LM.value.get(id)));
  const line = (effect, name, verb) => {
    const [id, counts] = d3.greatest(things(effect), ([, counts]) => counts[effect]) ?? [];
    if (!id) return null;
    const thing = LM.data.entries[LM.number.get(id)] ?? LM.value.get(id);
    const text = LM.takeaway(thing) || thing.goal || thing.text;
    LM.said.add(text);
    return LM.fact([`${name} ${LM.count(counts[effect], "time")}: `, LM.thing(id, LM.short(text, 140))], null, LM.choices(thing, text, verb(thing)));
  };
  const told = LM.told();
  if (!told.times) return null;
  return LM.overviewCard("What helped, and what misled", LM.fact(["Told ", LM.make("span", {class: "told"}, told.words), "."], LM.anchor({view: "advice"}, {}, "What was said, and what came of it")),
    line("helped", "Helped most,", () => "share"), line("misled", "Misled most,", LM.stop));
};
// What ends the telling of a lesson or a value.
LM.stop = (thing) => (thing.never ? "again" : LM.value.has(thing.id) ? "retire" : "never");

LM.overviewStale = (entries) => {
  const stale = entries.filter((entry) => LM.isStale(entry) && !entry.never);
  if (!stale.length) return null;
  stale.slice(0, 3).forEach((entry) => LM.said.add(LM.takeaway(entry) || entry.goal));
  return LM.card(`Stale: ${LM.count(stale.length, "lesson")}`, "Their files changed or are gone, or a later entry contradicts them.",
    LM.list(stale, (entry) => LM.fact(LM.thing(entry.id, LM.short(LM.takeaway(entry) || entry.goal, 140)), LM.staleWords(entry), LM.choices(entry, entry.goal, "never")), "rows tight", 3));
};
