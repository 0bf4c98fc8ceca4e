"use strict";
// Health: whether everything stored can be read and found, how much there is, and what runs.

LM.views.push({
  name: "health",
  title: "Health",
  say: "Whether everything stored can be read and found, how much there is, and what runs. Covers all projects.",
  draw: (view) => {
    const health = LM.data.health;
    const {index, journal} = health;
    const fact = (name, figure, more) => LM.make("div", {}, LM.make("dt", {}, name), LM.make("dd", {}, figure, LM.make("small", {}, more ?? "")));
    const spelled = (name) => name.replaceAll("_", " ");
    const table = (title, facts) => LM.card(title, null, LM.make("table", {}, LM.make("tbody", {}, Object.entries(facts).map(([name, value]) => LM.make("tr", {}, LM.make("th", {scope: "row"}, spelled(name)), LM.make("td", {dir: "auto"}, typeof value === "number" && name.endsWith("bytes") ? LM.bytes(value) : typeof value === "object" && value !== null ? Object.entries(value).map(([key, part]) => `${spelled(key)} ${part}`).join(", ") || "none" : LM.plain(typeof value === "number" ? value.toLocaleString("en") : value)))))));
    const notice = health.notice ? LM.make("p", {class: "notice"}, LM.plain(health.notice)) : null;
    view.append(
      ...(notice ? [notice] : []),
      LM.make("dl", {class: "figures"},
        fact("Waiting for the index", index.pending === undefined ? "unknown" : index.pending.toLocaleString("en"), index.complete ? "everything can be found" : "found by words until then"),
        fact("Unreadable lines", journal.damaged_lines.toLocaleString("en"), journal.damaged_lines ? "doctor names them" : "the journal is sound"),
        fact("Journal", LM.bytes(journal.bytes), LM.count(health.experiences.total, "resolved entry", "resolved entries")),
        "bytes" in index ? fact("Index", LM.bytes(index.bytes), index.engine) : fact("Index", "server", index.engine),
      ),
      LM.make("div", {class: "columns"},
        table("What is stored", {entries: health.experiences.total, by_outcome: health.experiences.by_outcome, open: health.experiences.open, by_axis: health.experiences.by_axis, by_tier: health.experiences.by_tier, values: health.values, verdicts: health.verdicts, memories: health.memories.total, characters_in_memories: health.memories.characters}),
        table("What runs", {...health.versions, model: health.model.name ?? health.model.backend, model_state: health.model.state, runtime: health.model.runtime ?? "none"}),
      ),
      LM.card("If something is wrong", null, LM.act("doctor")),
    );
  },
});
