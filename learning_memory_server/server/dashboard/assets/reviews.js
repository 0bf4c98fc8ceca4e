"use strict";
// What waits for a person's answer: sentences that may become rules, and lessons of others.

LM.waitingHere = () => LM.select(LM.data.waiting);
LM.waitingRow = (each) => {
  const isKnown = LM.number.has(each.id) || LM.sharedLesson.has(each.id);
  const said = [each.kind === "rule" ? each.about : null, each.where, each.kind === "rule" ? `from ${each.fared}` : each.fared].filter(Boolean);
  return LM.make("li", {class: "decided", "data-waiting": each.id},
    LM.make("div", {}, isKnown ? LM.thing(each.id, LM.short(each.text, 200)) : LM.line(each.text, 200), LM.make("div", {class: "soft small"}, LM.badge("tag", each.kind === "rule" ? "rule" : "lesson"), " ", LM.line(said.join("; "), 240))),
    LM.choices(each, each.text, "yes", "no", "later"));
};

LM.views.push({
  name: "reviews",
  title: "Reviews",
  say: "Agents are told these only if you agree. A yes to a sentence makes it a rule; a yes to a lesson of others makes it advice.",
  things: () => LM.data.waiting,
  empty: ["Nothing waits for an answer.", "Sentences from your files, your refusals and past sessions come here, and lessons that others shared. To look for them in a project's folder:", "review"],
  count: () => LM.waitingHere().length,
  draw: (view) => {
    const waiting = LM.waitingHere();
    if (!waiting.length) return view.append(LM.nothingFound());
    const all = (verb) => LM.make("button", {type: "button", click: () => {
      waiting.forEach((each) => LM.chosen.set(each.id, {verb, project: each.project}));
      LM.showChosen();
    }}, `${LM.verbs[verb].name} to all ${waiting.length.toLocaleString("en")}`);
    view.append(LM.make("section", {class: "card"},
      LM.make("div", {class: "choices all"}, all("no"), all("later")),
      LM.list(waiting, LM.waitingRow, "rows tight")));
  },
});
