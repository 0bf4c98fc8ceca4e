"use strict";
// What is read rather than looked at: advice and failures, memories, open entries, and the state of the store.

LM.adviceText = (item) => {
  if (item.kind === "value") return LM.value.has(item.id) ? LM.valueLink(LM.value.get(item.id)) : LM.make("span", {class: "soft"}, "a value that is gone");
  const number = LM.number.get(item.id);
  if (number === undefined) return LM.entryLink(item.id);
  const entry = LM.data.entries[number];
  return LM.make("button", {type: "button", class: "link text short", dir: "auto", click: () => LM.openEntry(number)}, LM.short(LM.takeaway(entry) || entry.goal, 160));
};
LM.adviceWords = (advice) => {
  const about = (id) => LM.data.entries[LM.number.get(id)] ?? LM.value.get(id) ?? {};
  return LM.texts([about(advice.entry).goal, advice.channel, ...advice.items.map((item) => { const one = about(item.id); return [one.text, one.goal, one.lesson, one.surprise, item.effect, LM.reasons[item.reason]]; })]);
};
LM.foundAdvice = () => LM.data.advice.filter((each) => !LM.words.length || LM.has(LM.adviceWords(each)));

LM.views.push({
  name: "advice",
  title: "Advice",
  say: "What agents were told unasked, what was withheld to measure whether it helps, and which command mended a failing one.",
  count: () => LM.foundAdvice().length + LM.select(LM.data.failures).length,
  draw: (view) => {
    const advice = LM.foundAdvice().reverse();
    const failures = LM.select(LM.data.failures).reverse();
    if (!advice.length && !failures.length) {
      view.append(LM.nothing(LM.words.length ? "Nothing was found." : "Nobody was told anything yet.", LM.words.length ? "No advice and no failure has all the words that you search for." : "When an agent starts an entry that resembles earlier ones, what was learned from them appears here."));
      return;
    }
    if (advice.length) {
      view.append(LM.card("Advice", `${LM.count(advice.filter((each) => !each.withheld).length, "time")} shown, ${advice.filter((each) => each.withheld).length.toLocaleString("en")} withheld.`,
        LM.list(advice, (each) => {
          const entry = LM.data.entries[LM.number.get(each.entry)];
          return LM.make("li", {},
            LM.make("div", {class: "facts"}, each.withheld ? LM.badge("withheld", "withheld") : LM.badge("shown", "shown"), entry ? LM.outcome(entry.outcome_status) : LM.make("span", {}, "still open"), LM.make("span", {}, LM.date(each.at)), LM.make("span", {}, LM.channels[each.channel] ?? each.channel), each.withheld ? LM.make("span", {}, `by a draw with a chance of ${LM.percent(each.probability)}`) : null),
            LM.make("div", {class: "labelled"}, LM.make("span", {}, "For:"), LM.entryLink(each.entry)),
            LM.make("ul", {class: "items"}, each.items.map((item) => LM.make("li", {}, LM.make("div", {class: "labelled"}, item.effect ? LM.badge(item.effect) : null, LM.make("span", {class: "soft small"}, item.kind === "value" ? "value:" : "lesson:"), LM.adviceText(item)), LM.make("div", {class: "soft small"}, LM.matched(item))))),
          );
        }),
      ));
    }
    if (failures.length) {
      const mended = failures.filter((failure) => failure.mended).length;
      view.append(LM.card("Failing commands", `${LM.count(failures.length, "failure")}, ${mended.toLocaleString("en")} of them mended soon after. This page knows no folder: what depends on a file, as a cd or an install does, is told by a hook or by the command failures.`,
        LM.list(failures, (failure) => LM.make("li", {},
          LM.make("div", {class: "facts"}, failure.mended ? LM.badge("supported", "mended") : LM.badge("unattested", "not mended"), LM.make("span", {}, LM.date(failure.at)), LM.make("span", {}, failure.times > 1 ? `seen ${failure.times.toLocaleString("en")} times by then` : "seen for the first time")),
          LM.text(failure.signature),
          LM.make("code", {class: "text soft", dir: "auto"}, LM.plain(failure.command)),
          failure.shown ? LM.reminder(failure) : null,
          failure.remedy ? LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, "Shown if it fails again: "), LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.remedy))) : null,
        )),
      ));
    }
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
// What was shown when a command failed: what mended the same error before, after a similar command.
LM.reminder = (failure) => {
  const before = LM.data.failures.find((each) => each.id === failure.shown);
  const support = typeof failure.support !== "number" ? "" : ` (${LM.percent(failure.support)} of what is known of this error spoke for it)`;
  return LM.make("div", {class: "items"},
    LM.make("span", {class: "soft small"}, `Shown, because it mended the same error${before ? "" : " before"}${support}: `),
    before?.remedy ? LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.remedy)) : LM.make("span", {class: "soft small"}, before ? "no longer shown" : "it is forgotten"),
    before ? LM.make("div", {class: "soft small"}, "in place of ", LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.command))) : null,
    failure.mended ? null : LM.make("div", {class: "soft small"}, "Nothing mended it this time."),
  );
};
LM.channels = {start: "when the entry was started", update: "when the hypothesis changed", hook: "by a hook of the client", context: "at the start of the session"};

LM.views.push({
  name: "memories",
  title: "Memories",
  say: "Plain texts that agents kept: notes, decisions and documents, the last one added first.",
  count: () => LM.select(LM.data.memories).length,
  draw: (view) => {
    const memories = LM.select(LM.data.memories);
    if (!memories.length) {
      view.append(LM.nothing(LM.words.length ? "Nothing was found." : "No text has been kept yet.", LM.words.length ? "No memory has all the words that you search for." : "Agents keep one with add_memory."));
      return;
    }
    view.append(LM.make("section", {class: "card"}, LM.list(memories, (memory) => {
      const {title, tags, source, ...more} = memory.metadata;
      const text = LM.text(memory.text);
      const isLong = memory.text.length > 700 || memory.text.split("\n").length > 6;
      if (isLong) text.classList.add("clip");
      const whole = isLong ? LM.make("button", {type: "button", class: "link small", click: () => LM.open(memory.id, title ? LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(title)) : null, LM.text(memory.text))}, "Show the whole text") : null;
      return LM.make("li", {},
        title ? LM.make("h3", {class: "text short", dir: "auto"}, LM.short(title, 200)) : null,
        LM.make("div", {class: "facts"}, LM.make("span", {}, LM.date(memory.date)), (Array.isArray(tags) ? tags : []).map((tag) => LM.badge("tag", LM.short(tag, 40))), source ? LM.line(source, 100) : null, Object.entries(more).slice(0, 4).map(([name, value]) => LM.line(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`, 80)), LM.line(memory.project, 60)),
        text, whole,
        memory.characters > memory.text.length ? LM.make("p", {class: "soft small"}, `The first ${memory.text.length.toLocaleString("en")} of ${LM.count(memory.characters, "character")}; the command show has the rest.`) : null);
    })));
  },
});

LM.views.push({
  name: "open",
  title: "Open",
  say: "Entries that were started and not resolved yet, the newest first.",
  count: () => LM.select(LM.data.open).length,
  draw: (view) => {
    const open = LM.select(LM.data.open);
    if (!open.length) {
      view.append(LM.nothing(LM.words.length ? "Nothing was found." : "Nothing is open.", LM.words.length ? "No open entry has all the words that you search for." : "Every entry that was started has been resolved."));
      return;
    }
    view.append(LM.make("section", {class: "card"}, LM.list(open, (entry) => LM.make("li", {},
      LM.make("h3", {class: "text short", dir: "auto"}, LM.short(entry.goal, 200)),
      LM.make("div", {class: "facts"}, LM.make("span", {}, `started ${LM.date(entry.created_at)}`), LM.make("span", {}, `${entry.domain}, ${entry.strategy}`), entry.confidence === undefined ? null : LM.make("span", {}, `${LM.percent(entry.confidence)} confident`), LM.line(entry.project, 60)),
      LM.make("p", {class: "text", dir: "auto"}, LM.make("span", {class: "soft"}, "Believes: "), LM.plain(entry.hypothesis)),
      LM.make("p", {class: "text", dir: "auto"}, LM.make("span", {class: "soft"}, "Does: "), LM.plain(entry.action)),
      LM.make("p", {class: "text", dir: "auto"}, LM.make("span", {class: "soft"}, "Expects: "), LM.plain(entry.prediction)),
    ))));
  },
});

LM.views.push({
  name: "health",
  title: "Health",
  say: "Whether everything that is stored can be read and found, how much it is, and what runs.",
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
        fact("Waiting for the index", index.pending === undefined ? "unknown" : index.pending.toLocaleString("en"), index.complete ? "everything can be found" : "what waits is found lexically"),
        fact("Unreadable lines", journal.damaged_lines.toLocaleString("en"), journal.damaged_lines ? "doctor names them" : "the journal is sound"),
        fact("Journal", LM.bytes(journal.bytes), LM.count(health.experiences.total, "resolved entry", "resolved entries")),
        "bytes" in index ? fact("Index", LM.bytes(index.bytes), index.engine) : fact("Index", "server", index.engine),
      ),
      LM.make("div", {class: "columns"},
        table("What is stored", {experiences: health.experiences.total, open: health.experiences.open, by_axis: health.experiences.by_axis, by_tier: health.experiences.by_tier, values: health.values, verdicts: health.verdicts, memories: health.memories.total, characters_in_memories: health.memories.characters}),
        table("What runs", {...health.versions, model: health.model.name ?? health.model.backend, model_state: health.model.state, runtime: health.model.runtime ?? "none"}),
      ),
    );
  },
});
