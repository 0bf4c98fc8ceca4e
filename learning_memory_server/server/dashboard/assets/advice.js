"use strict";
// Advice: what was asked, what was said, and what the agent did next.

LM.adviceText = (item) => {
  const value = LM.value.get(item.id), entry = LM.data.entries[LM.number.get(item.id)] ?? LM.sharedLesson.get(item.id);
  if (item.kind === "value") return value ? LM.valueLink(value) : LM.make("span", {class: "soft"}, "a value that was removed");
  return entry ? LM.thing(item.id, LM.short(LM.takeaway(entry) || entry.goal, 400)) : LM.entryLink(item.id);
};
LM.adviceWords = (advice) => {
  const about = (id) => LM.data.entries[LM.number.get(id)] ?? LM.value.get(id) ?? LM.sharedLesson.get(id) ?? {};
  return LM.texts([about(advice.entry).goal, advice.channel, ...advice.items.map((item) => { const one = about(item.id); return [one.text, one.goal, one.lesson, one.surprise, item.effect, LM.reasons[item.reason]]; })]);
};
LM.foundAdvice = () => LM.data.advice.filter((each) => LM.isOfProject(each) && LM.hasWords(each, () => LM.adviceWords(each)));

LM.views.push({
  name: "advice",
  title: "Advice",
  say: "What agents were about to do, what they were told unasked, and what they did next.",
  things: () => LM.data.advice,
  empty: ["Nothing has been told unasked yet.", "An agent that starts an entry like earlier ones is told what they taught, and you see it here. To see what a new session in a project would be told:", "context"],
  count: () => LM.foundAdvice().length,
  draw: (view) => {
    const told = d3.sort(LM.foundAdvice(), (each) => -new Date(each.at));
    if (!told.length) return view.append(LM.nothingFound());
    view.append(LM.card(null, null, LM.make("p", {class: "say"}, "Told ", LM.make("span", {class: "told"}, LM.told().words), "."), LM.list(told, (each) => LM.make("li", {class: "told-row"}, LM.adviceParts(each)))));
  },
});
LM.exchange = (head, asked, said, next) => [LM.make("div", {class: "facts"}, head), LM.make("dl", {class: "steps"}, Object.entries({Asked: asked, Said: said, Then: next}).map(([name, part]) => [LM.make("dt", {}, name), LM.make("dd", {}, part)]))];
LM.adviceParts = (advice) => {
  const entry = LM.data.entries[LM.number.get(advice.entry)], open = LM.opened.get(advice.entry);
  const belief = (entry ?? open)?.hypothesis;
  return LM.exchange(
    [LM.make("span", {}, LM.date(advice.at)), LM.make("span", {}, LM.channels[advice.channel] ?? advice.channel)],
    [advice.entry ? LM.entryLink(advice.entry) : "No entry was open.", belief ? LM.make("div", {class: "soft small"}, "Believed: ", LM.line(belief, 200)) : null],
    LM.make("ul", {}, advice.items.map((item) => LM.make("li", {}, LM.adviceText(item), LM.make("div", {class: "soft small labelled"}, item.effect ? LM.badge(item.effect) : null, LM.make("span", {}, LM.matched(item)))))),
    entry ? [LM.outcome(entry.outcome_status), " ", LM.line(entry.outcome_result, 240)] : open ? "The entry is still open." : advice.entry ? "The entry was forgotten." : "Nothing says what came of it.");
};
// Why an item was shown, and how well it matched.
LM.reasons = {
  similar: "it says something similar",
  terms: "it has the same rare terms",
  both: "it says something similar, with some of the same rare terms",
  in_force: "one of the best values in force, shown to each session",
  error: "it is about the very error",
  latest: "one of the latest lessons, shown to each session",
};
LM.matched = (item) => [typeof item.score === "number" && `score ${item.score.toFixed(2)}`, LM.reasons[item.reason] ?? "no reason was recorded"].filter(Boolean).join(": ");
LM.channels = {start: "when the entry was started", update: "when the hypothesis changed", hook: "by a hook of the client", context: "at the start of the session"};
