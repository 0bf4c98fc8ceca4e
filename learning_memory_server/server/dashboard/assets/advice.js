"use strict";
// Advice: what agents were told unasked, what was withheld, and what came of it.

LM.adviceText = (item) => {
  const value = LM.value.get(item.id), entry = LM.data.entries[LM.number.get(item.id)] ?? LM.sharedLesson.get(item.id);
  if (item.kind === "value") return value ? LM.valueLink(value) : LM.make("span", {class: "soft"}, "a value that was removed");
  return entry ? LM.thing(item.id, LM.short(LM.takeaway(entry) || entry.goal, 160)) : LM.entryLink(item.id);
};
LM.adviceWords = (advice) => {
  const about = (id) => LM.data.entries[LM.number.get(id)] ?? LM.value.get(id) ?? LM.sharedLesson.get(id) ?? {};
  return LM.texts([about(advice.entry).goal, advice.channel, ...advice.items.map((item) => { const one = about(item.id); return [one.text, one.goal, one.lesson, one.surprise, item.effect, LM.reasons[item.reason]]; })]);
};
LM.foundAdvice = () => LM.data.advice.filter((each) => LM.isOfProject(each) && LM.hasWords(each, () => LM.adviceWords(each)));

LM.views.push({
  name: "advice",
  title: "Advice",
  say: "What your agents were told unasked, and what was withheld to measure whether it helps.",
  count: () => LM.foundAdvice().length,
  draw: (view) => {
    const advice = LM.foundAdvice().reverse();
    if (!LM.data.advice.length) {
      view.append(LM.nothing("Nothing has been told unasked yet.", "An agent that starts an entry like earlier ones is told what they taught, and you see it here. To see what a new session in a project would be told:", "context"));
      return;
    }
    if (!advice.length) return view.append(LM.nothingFound());
    view.append(LM.card(null, null, LM.make("p", {class: "say"}, "Told ", LM.make("span", {class: "told"}, LM.told().words), "."),
      LM.list(advice, (each) => {
        const entry = LM.data.entries[LM.number.get(each.entry)];
        return LM.make("li", {},
          LM.make("div", {class: "facts"}, each.withheld ? LM.badge("withheld", "withheld") : LM.badge("shown", "shown"), entry ? LM.outcome(entry.outcome_status) : LM.make("span", {}, "still open"), LM.make("span", {}, LM.date(each.at)), LM.make("span", {}, LM.channels[each.channel] ?? each.channel), each.withheld ? LM.make("span", {}, `at random, with a chance of ${LM.percent(each.probability)}`) : null),
          LM.make("div", {class: "labelled"}, LM.make("span", {}, "For:"), LM.entryLink(each.entry)),
          LM.make("ul", {class: "items"}, each.items.map((item) => LM.make("li", {}, LM.make("div", {class: "labelled"}, item.effect ? LM.badge(item.effect) : null, LM.make("span", {class: "soft small"}, item.kind === "value" ? "value:" : "lesson:"), LM.adviceText(item)), LM.make("div", {class: "soft small"}, LM.matched(item))))),
        );
      }),
    ));
  },
});
// Why an item was shown, and how well it matched.
LM.reasons = {
  similar: "it says something similar",
  terms: "it has the same rare terms",
  both: "it says something similar, with some of the same rare terms",
  in_force: "one of the best values in force, shown to each session",
  latest: "one of the latest lessons, shown to each session",
};
LM.matched = (item) => [typeof item.score === "number" && `score ${item.score.toFixed(2)}`, LM.reasons[item.reason] ?? "no reason was recorded"].filter(Boolean).join(": ");
LM.channels = {start: "when the entry was started", update: "when the hypothesis changed", hook: "by a hook of the client", context: "at the start of the session"};
