"use strict";
// Shared lessons of the joined repositories, with who merged them, as the other half of the entries.
LM.sharedList = (shared) => {
  const authors = d3.rollups(shared, (some) => some.length, (entry) => entry.author || "unknown").sort((a, b) => b[1] - a[1]);
  return LM.make("section", {class: "card"},
    LM.make("p", {class: "say"}, `${LM.count(shared.length, "lesson")} by ${LM.count(authors.length, "author")}, as on the default branch: ${authors.slice(0, 6).map(([author, count]) => `${LM.short(author, 40)} ${count.toLocaleString("en")}`).join(", ")}.`),
    LM.list(shared, (entry) => LM.make("li", {"data-shared": entry.id},
      LM.thing(entry.id, LM.short(LM.takeaway(entry) || entry.goal, 220)),
      LM.make("div", {class: "soft small"}, LM.line(entry.goal, 140)),
      LM.make("div", {class: "facts"}, LM.outcome(entry.outcome_status), LM.line(entry.author || "unknown author", 60), LM.make("span", {}, LM.date(entry.resolved_at)), ["confirmation", "contradiction"].map((noun) => entry[noun + "s"] ? LM.make("span", {}, LM.count(entry[noun + "s"], noun)) : null), LM.line(entry.project, 60)))));
};
