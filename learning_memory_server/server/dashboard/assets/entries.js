"use strict";
// The entries as a table, the lesson first.

LM.views.push({
  name: "entries",
  title: "Entries",
  say: "What was believed, tried and learned, one row per entry. Click a row to see all of it.",
  hasEntries: true,
  count: () => LM.found().length,
  draw: (view) => {
    if (!LM.data.entries.length) {
      view.append(LM.nothing("No entry has been resolved yet.", "Add this memory to your agent, or let it learn from past sessions. In a project's folder, run:", "start"));
      return;
    }
    view.append(LM.facetTools());
    const found = LM.sorted(LM.found());
    view.append(found.length ? LM.entryTable(found) : LM.nothingFound());
  },
});

// Each facet as a menu, with how many entries each choice would show.
LM.facetTools = () => {
  const menu = (name, title, options) =>
    LM.make("label", {class: "facet"}, LM.make("span", {}, title), LM.make("select", {"data-facet": name, change: (event) => LM.go({[name]: event.target.value})},
      LM.make("option", {value: ""}, "all"),
      options.map(([value, text, count]) => LM.make("option", {value, selected: LM.at[name] === String(value)}, count === undefined ? text : `${text} (${count.toLocaleString("en")})`))));
  const counted = (name) => {
    const of = name === "project" ? (entry) => entry.project : LM.facets[name];
    const others = LM.data.entries.filter((entry) => (name === "project" || LM.isOfProject(entry)) && LM.isRecent(entry) && LM.hasWords(entry) && Object.keys(LM.facets).every((each) => each === name || LM.passes(entry, each)));
    const counts = d3.rollups(others.flatMap((entry) => [of(entry)].flat()), (some) => some.length, (value) => value);
    if (LM.at[name] && !counts.some(([value]) => value === LM.at[name])) counts.push([LM.at[name], 0]);
    return counts.sort((a, b) => b[1] - a[1]).map(([value, count]) => [value, LM.short(value, 40), count]);
  };
  return LM.make("div", {class: "tools facets"},
    LM.projects.length > 1 ? menu("project", "Project", counted("project")) : "",
    menu("outcome", "Outcome", counted("outcome")),
    menu("domain", "Domain", counted("domain")),
    menu("strategy", "Strategy (how tried)", counted("strategy")),
    menu("days", "Resolved", Object.entries(LM.days)),
    menu("state", "State", counted("state")),
  );
};

// What the table is sorted by: the newest first, unless the address says otherwise; a second click turns it around.
LM.columns = {
  resolved: {title: "Resolved", of: (entry) => -entry.at},
  outcome: {title: "Outcome", of: (entry) => entry.outcome_status},
  domain: {title: "Domain", of: (entry) => entry.domain},
  strategy: {title: "Strategy", of: (entry) => entry.strategy},
  project: {title: "Project", of: (entry) => entry.project},
  confidence: {title: "Sure", of: (entry) => -(LM.stated(entry) ?? -1)},
};
LM.sorting = () => {
  const [name, turn] = (LM.at.sort ?? "").split("-");
  return Object.hasOwn(LM.columns, name) ? {name, isTurned: turn === "turned"} : {name: "resolved", isTurned: false};
};
LM.sorted = (entries) => {
  const {name, isTurned} = LM.sorting();
  if (name === "resolved" && !isTurned) return entries;
  const sorted = d3.sort(entries, LM.columns[name].of);
  return isTurned ? sorted.reverse() : sorted;
};

LM.entryTable = (entries) => {
  const {name: by, isTurned} = LM.sorting();
  const columns = Object.entries(LM.columns).filter(([name]) =>
    name === "project" ? LM.projects.length > 1 && !LM.at.project : name !== "confidence" || LM.data.entries.some((entry) => LM.stated(entry) !== undefined));
  const first = {resolved: "descending", confidence: "descending"};
  const direction = (name) => { const natural = first[name] ?? "ascending"; return !isTurned ? natural : natural === "ascending" ? "descending" : "ascending"; };
  const head = LM.make("tr", {}, LM.make("th", {scope: "col"}, "Lesson"), columns.map(([name, column]) =>
    LM.make("th", {scope: "col", class: name, "aria-sort": by === name ? direction(name) : null},
      LM.make("button", {type: "button", class: "sort", click: () => LM.go({sort: by === name && !isTurned ? `${name}-turned` : name})}, column.title, LM.make("span", {"aria-hidden": "true"}, by !== name ? "" : direction(name) === "ascending" ? " ↑" : " ↓")))));
  const cells = {
    resolved: (entry) => LM.day(entry.at),
    outcome: (entry) => LM.outcome(entry.outcome_status),
    domain: (entry) => entry.domain,
    strategy: (entry) => entry.strategy,
    project: (entry) => LM.line(entry.project, 60),
    confidence: (entry) => { const stated = LM.stated(entry); return stated === undefined ? "" : LM.percent(stated); },
  };
  const row = (entry) => LM.make("tr", {"data-entry": entry.id},
    LM.make("td", {class: "lesson"}, LM.thing(entry.id, LM.short(LM.takeaway(entry) || entry.outcome_result || entry.goal, 220)),
      LM.make("div", {class: "soft small"}, LM.line(entry.goal, 140), LM.isStale(entry) ? [" ", LM.badge("stale", "stale")] : null),
      LM.words.length ? LM.make("div", {class: "soft small"}, LM.marked([entry.hypothesis, entry.outcome_result, entry.surprise, entry.action, entry.prediction].filter(Boolean).join(" · "), 160)) : null),
    columns.map(([name]) => LM.make("td", {class: name}, cells[name](entry))));
  const body = LM.make("tbody", {});
  const card = LM.make("section", {class: "card"}, LM.make("table", {class: "entries"}, LM.make("thead", {}, head), body));
  LM.more(entries, row, body, card);
  return card;
};
