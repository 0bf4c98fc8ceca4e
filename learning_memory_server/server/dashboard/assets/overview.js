"use strict";
// The overview: what matters today, each line with the command to act on it.

LM.views.push({
  name: "overview",
  title: "Overview",
  say: "What your agents learned, what keeps going wrong, and what you can do about it.",
  draw: (view) => {
    const entries = LM.data.entries.filter(LM.isOfProject);
    const open = LM.data.open.filter(LM.isOfProject);
    const errors = LM.data.errors.filter(LM.isOfProject);
    if (!entries.length && !open.length && !errors.length) {
      view.append(LM.nothing("Nothing is stored yet.", "Add this memory to your agent, and let it learn from past sessions. In a project's folder, run:", "start"));
      return;
    }
    const judged = LM.judged(entries);
    const failed = d3.sum(errors, (error) => error.failures.length);
    const fact = (name, figure, more) => LM.make("div", {}, LM.make("dt", {}, name), LM.make("dd", {}, figure, LM.make("small", {}, more)));
    const by = (status) => entries.filter((entry) => entry.outcome_status === status).length.toLocaleString("en");
    const columns = LM.make("div", {class: "columns"},
      LM.make("div", {class: "stack"}, ...LM.kept(LM.overviewSure(entries, judged), LM.overviewTakeaways(entries), LM.overviewOpen(open))),
      LM.make("div", {class: "stack"}, ...LM.kept(LM.overviewRecurs(entries, errors), LM.overviewTold(), LM.overviewStale(entries))),
    );
    view.append(
      LM.make("dl", {class: "figures"},
        fact("Entries", entries.length.toLocaleString("en"), `${by("confirmed")} confirmed, ${by("falsified")} falsified, ${by("abandoned")} abandoned`),
        fact("Open", open.length.toLocaleString("en"), open.length ? "started, not resolved" : "all entries are resolved"),
        fact("Command errors", errors.length.toLocaleString("en"), `of ${LM.count(failed, "failing command")}`),
        fact("Told unasked", LM.told().times.toLocaleString("en"), `helped ${LM.told().helped.toLocaleString("en")}, misled ${LM.told().misled.toLocaleString("en")}`),
      ),
      columns,
    );
  },
});

LM.told = () => (Object.hasOwn(LM.data.told, LM.at.project ?? "") ? LM.data.told[LM.at.project ?? ""] : {times: 0, helped: 0, misled: 0, words: "nothing yet"});
// A line of the overview: what there is to know, more about it, and the command.
LM.fact = (line, more, ...words) => LM.make("li", {}, LM.make("div", {}, line), more && LM.make("div", {class: "soft small"}, more), words.length ? LM.act(...words) : null);
LM.overviewCard = (title, ...lines) => LM.card(title, null, LM.make("ul", {class: "rows tight"}, lines));

LM.sureness = (forecasts) => {
  const [said, held] = [d3.mean(forecasts, (one) => one.confidence), d3.mean(forecasts, (one) => one.held)].map((share) => Math.round(100 * share));
  const judgement = said === held ? "just right" : `${Math.abs(said - held)} points too ${said > held ? "sure" : "unsure"}`;
  const few = forecasts.length < LM.few ? ` Based on ${LM.count(forecasts.length, "entry", "entries")}: too few to rely on.` : "";
  return `Agents stated ${said} % and ${held} % held: ${judgement}.${few}`;
};
LM.overviewSure = (entries, judged) => {
  const forecasts = LM.forecasts(entries);
  const held = LM.heldOf(judged);
  const line = judged.length ? `${held.toLocaleString("en")} of ${LM.count(judged.length, "judged entry", "judged entries")} held${judged.length < LM.few ? "" : `, ${LM.percent(held / judged.length)}`}.` : "Nothing has been judged yet.";
  return LM.overviewCard("What held, and how sure your agents were", LM.fact([LM.make("strong", {}, line), " ", forecasts.length ? LM.sureness(forecasts) : judged.length ? "No entry states a confidence." : "An entry counts once it is confirmed or falsified."], LM.anchor({view: "calibration"}, {}, "Calibration"), "calibration", ...LM.inProject()));
};

// Three of the last seven days, those first that helped most, then those that surprised.
LM.takeaways = (entries) => {
  const taught = entries.filter((entry) => entry.lesson && LM.takeaway(entry));
  const week = taught.filter((entry) => LM.madeAt - entry.at <= 7 * 864e5);
  const helped = (entry) => LM.effects.get(entry.id)?.helped ?? 0;
  const best = (week.length ? [...week] : taught.slice(0, 3)).sort((a, b) => helped(b) - helped(a) || Boolean(b.surprise) - Boolean(a.surprise) || b.at - a.at);
  return {isOfWeek: week.length > 0, best: best.slice(0, 3), rest: week.length - 3};
};
LM.overviewTakeaways = (entries) => {
  const {isOfWeek, best, rest} = LM.takeaways(entries);
  if (!best.length) return LM.overviewCard("This week's takeaways", LM.fact("No entry has taught anything yet.", "Takeaways come from entries that agents resolve.", "list"));
  return LM.overviewCard(isOfWeek ? "This week's takeaways" : "Latest takeaways (none this week)",
    ...best.map((entry) => LM.fact([LM.sign(LM.outcomes[entry.outcome_status]), " ", LM.thing(entry.id, LM.short(LM.takeaway(entry), 180))], LM.line(entry.goal, 110), "show", entry.id)),
    rest > 0 ? LM.make("li", {class: "small"}, LM.anchor({view: "entries", days: "7"}, {}, `${rest.toLocaleString("en")} more this week`)) : null);
};

// The mistake that recurs most: the largest cluster of reasons, which are the same only if their texts are, else the most frequent
// kind of reason; and the error that commands met most often.
LM.overviewRecurs = (entries, errors) => {
  const numbers = new Set(entries.map((entry) => LM.number.get(entry.id)));
  const ofProject = (cluster) => cluster.members.filter((number) => numbers.has(number)).length;
  const cluster = d3.greatest(LM.data.axes.root_cause.clusters, ofProject);
  const [kind, times] = d3.greatest(d3.rollups(entries.filter((entry) => entry.root_cause), (some) => some.length, (entry) => entry.root_cause.category), ([, count]) => count) ?? [];
  const error = d3.greatest(errors, (each) => each.times);
  const lines = [];
  if (cluster && ofProject(cluster)) lines.push(LM.fact([...(cluster.is_one_text ? ["Wrong for the same reason ", LM.make("strong", {}, LM.count(ofProject(cluster), "time")), ": "] : [LM.make("strong", {}, LM.count(ofProject(cluster), "wrong guess", "wrong guesses")), " about "]), LM.clusterLink("root_cause", cluster)], cluster.takeaway ? LM.line(cluster.takeaway, 160) : `${LM.count(cluster.last_30_days, "time")} in the last 30 days`, "show", cluster.cluster_id));
  else if (kind) lines.push(LM.fact([`The most frequent root cause: `, LM.make("strong", {}, kind)], `${LM.count(times, "entry", "entries")}, too few of them alike to form a cluster`, "clusters", "root_cause"));
  if (error) lines.push(LM.fact([error.times > 1 ? "Failed " : "A command failed ", LM.make("strong", {}, LM.count(error.times, "time")), ": ", LM.thing(error.id, LM.short(error.signature, 110))], error.remedy ? ["What worked: ", LM.make("code", {}, LM.short(error.remedy, 100))] : error.followed ? LM.followed(error) : "Nothing is known to mend it.", "show", error.id));
  return LM.overviewCard("The mistake that recurs most", ...(lines.length ? lines : [LM.fact("Nothing went wrong twice.", "Falsified entries say what was wrong and why. This command finds the errors of past sessions:", "learn-from")]));
};

LM.overviewTold = () => {
  const things = (effect) => [...LM.effects].filter(([id, counts]) => counts[effect] && (LM.number.has(id) || LM.value.has(id)) && LM.isOfProject(LM.data.entries[LM.number.get(id)] ?? LM.value.get(id)));
  const most = (effect) => d3.greatest(things(effect), ([, counts]) => counts[effect]);
  const line = (effect, name) => {
    const [id, counts] = most(effect) ?? [];
    if (!id) return null;
    const entry = LM.data.entries[LM.number.get(id)];
    return LM.fact([`${name} ${LM.count(counts[effect], "time")}: `, LM.thing(id, LM.short(entry ? LM.takeaway(entry) || entry.goal : LM.value.get(id).text, 140))], null, "show", id);
  };
  const told = LM.told();
  const next = told.times || told.remedies ? null : "Agents are told when they start something that resembles earlier work. See what a new session in a project would be told:";
  return LM.overviewCard("What helped, and what misled", LM.fact(["Told ", LM.make("span", {class: "told"}, told.words), "."], next ?? LM.anchor({view: "advice"}, {}, "Advice"), next ? "context" : "status"), line("helped", "Helped most,"), line("misled", "Misled most,"));
};

LM.overviewOpen = (open) => {
  const oldest = [...open].reverse();
  const days = (entry) => Math.floor((LM.madeAt - new Date(entry.created_at)) / 864e5);
  if (!open.length) return LM.overviewCard("What is open", LM.fact("Nothing: every entry that was started is resolved.", "See what a new session in a project would be told:", "context"));
  return LM.overviewCard("What is open",
    ...oldest.slice(0, 3).map((entry) => LM.fact(LM.thing(entry.id, LM.short(entry.goal, 140)), days(entry) < 1 ? "since today; an agent in that project can resolve it" : `for ${LM.count(days(entry), "day")}; have an agent in that project resolve or abandon it`, "show", entry.id)),
    open.length > 3 ? LM.make("li", {class: "small"}, LM.anchor({view: "open"}, {}, `All ${open.length.toLocaleString("en")} open entries`)) : null);
};

LM.overviewStale = (entries) => {
  const stale = entries.filter(LM.isStale);
  if (!stale.length) return null;
  return LM.overviewCard("What is stale", LM.fact(LM.anchor({view: "entries", state: "stale"}, {}, LM.count(stale.length, "lesson")), "Their files changed or are gone, or a later entry contradicts them. Forget what is no longer true:", "forget", stale[0].id));
};
