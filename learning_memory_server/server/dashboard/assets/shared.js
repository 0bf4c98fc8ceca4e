"use strict";
// Shared lessons of the joined repositories, with their authors.

LM.views.push({
  name: "shared",
  title: "Shared",
  say: "Lessons kept in repositories, as on their default branch, with who merged them, as git has it.",
  count: () => LM.select(LM.data.shared).length,
  draw: (view) => {
    const shared = LM.select(LM.data.shared);
    if (!LM.data.shared.length) {
      view.append(LM.nothing("No repository has been joined.", "A repository can have lessons of its own, one file each. In its folder, run the first command to read them, or the second to add yours for review.", "join"));
      view.lastChild.append(LM.act("share"));
      return;
    }
    if (!shared.length) return view.append(LM.nothingFound());
    const authors = d3.rollups(shared, (some) => some.length, (entry) => entry.author || "unknown").sort((a, b) => b[1] - a[1]);
    view.append(LM.make("section", {class: "card"},
      LM.make("p", {class: "say"}, `${LM.count(shared.length, "lesson")} by ${LM.count(authors.length, "author")}: ${authors.slice(0, 6).map(([author, count]) => `${LM.short(author, 40)} ${count.toLocaleString("en")}`).join(", ")}.`),
      LM.list(shared, (entry) => LM.make("li", {"data-shared": entry.id},
        LM.thing(entry.id, LM.short(LM.takeaway(entry) || entry.outcome_result || entry.goal, 220)),
        LM.make("div", {class: "soft small"}, LM.line(entry.goal, 140)),
        LM.make("div", {class: "facts"}, LM.outcome(entry.outcome_status), LM.line(entry.author || "unknown author", 60), LM.make("span", {}, LM.date(entry.resolved_at)), ["confirmation", "contradiction"].map((noun) => entry[noun + "s"] ? LM.make("span", {}, LM.count(entry[noun + "s"], noun)) : null), LM.line(entry.project, 60))))));
  },
});
