"use strict";
// Memories.

LM.views.push({
  name: "memories",
  title: "Memories",
  say: "Texts that your agents kept, latest first: notes, decisions and documents.",
  things: () => LM.data.memories,
  empty: ["No text has been kept yet.", "Ask an agent to remember something, such as a decision and its reasons. To find it again:", "search", "the decision on retries"],
  count: () => LM.select(LM.data.memories).length,
  draw: (view) => {
    const memories = LM.select(LM.data.memories);
    view.append(memories.length ? LM.make("section", {class: "card"}, LM.list(memories, (memory) => LM.make("li", {}, LM.memoryParts(memory, false)))) : LM.nothingFound());
  },
});
LM.memoryParts = (memory, isWhole) => {
  const {title, tags, source, ...more} = memory.metadata;
  const text = LM.text(memory.text);
  const isLong = !isWhole && (memory.text.length > 700 || memory.text.split("\n").length > 6);
  if (isLong) text.classList.add("clip");
  return [
    title ? LM.make("h3", {class: "text short", dir: "auto"}, LM.short(title, 200)) : null,
    LM.make("div", {class: "facts"}, LM.make("span", {}, LM.date(memory.date)), (Array.isArray(tags) ? tags : []).map((tag) => LM.badge("tag", LM.short(tag, 40))), source ? LM.line(source, 100) : null, Object.entries(more).slice(0, 4).map(([name, value]) => LM.line(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`, 80)), LM.line(memory.project, 60), isWhole ? null : LM.thing(memory.id, isLong ? "Show the whole text" : "Show it alone")),
    text,
    memory.characters > memory.text.length ? LM.make("p", {class: "soft small"}, `The first ${memory.text.length.toLocaleString("en")} of ${LM.count(memory.characters, "character")}; the command shows the rest.`) : null,
  ];
};
