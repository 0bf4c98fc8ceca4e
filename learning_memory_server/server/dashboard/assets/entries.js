"use strict";
// The entries as a table: what was believed, what happened, and what was learned.

LM.views.push({
  name: "entries",
  title: "Entries",
  say: "What was believed, what happened, and what was learned, one row per entry. Click a row's belief to see all of it.",
  hasEntries: true,
  things: () => [...LM.data.entries, ...LM.data.shared],
  empty: ["No entry has been resolved yet.", "Add this memory to your agent, or let it learn from past sessions. In a project's folder, run:", "start"],
  count: () => LM.found().length,
  draw: (view) => {
    const shared = LM.select(LM.data.shared), isShared = LM.at.of === "shared";
    if (LM.data.shared.length) view.append(LM.make("div", {class: "tools"}, LM.switcher("Whose lessons", {own: "made here", shared: "by your team"}, isShared ? "shared" : "own", (of) => LM.go({of: of === "own" ? "" : of}))));
    if (!isShared) view.append(LM.facetTools());
    const found = isShared ? shared : LM.sorted(LM.found());
    view.append(!found.length ? LM.nothingFound() : isShared ? LM.sharedList(found) : LM.entryTable(found));
  },
});

// Each facet as a menu, with how many entries each choice would show.
LM.facetTools = () => {
  const menu = (name, title, options) =>
    LM.make("label", {class: "facet"}, LM.make("span", {}, title), LM.make("select", {"data-facet": name, change: (event) => LM.go({[name]: event.target.value})},
      LM.make("option", {value: ""}, "all"),
      options.map(([value, text, count]) => LM.make("option", {value, selected: LM.at[name] === String(value)}, count === undefined ? text : `${text} (${count.toLocaleString("en")})`))));
  const counted = (name) => {
    const of = LM.facets[name];
    const others = LM.data.entries.filter((entry) => LM.isOfProject(entry) && LM.isRecent(entry) && LM.hasWords(entry) && Object.keys(LM.facets).every((each) => each === name || LM.passes(entry, each)));
    const counts = d3.rollups(others.flatMap((entry) => [of(entry)].flat()), (some) => some.length, (value) => value);
    if (LM.at[name] && !counts.some(([value]) => value === LM.at[name])) counts.push([LM.at[name], 0]);
    return counts.sort((a, b) => b[1] - a[1]).map(([value, count]) => [value, LM.short(value, 40), count]);
  };
  return LM.make("div", {class: "tools facets"},
    menu("outcome", "Outcome", counted("outcome")),
    menu("domain", "Domain", counted("domain")),
    menu("strategy", "Strategy (how tried)", counted("strategy")),
    menu("days", "Resolved", Object.entries(LM.days)),
    menu("state", "State", counted("state")),
  );
};

// What the table is sorted by: in a search the most relevant first, else the newest, unless the address says otherwise; a
// second click turns it around. A column shows what an entry has, and nothing in its place.
LM.columns = {
  believed: {title: "Believed", cell: (entry) => [LM.thing(entry.id, LM.hit(entry.hypothesis, 200)), LM.make("div", {class: "soft small"}, LM.line(entry.goal, 110))]},
  happened: {title: "Happened", cell: (entry) => LM.hit(entry.outcome_result, 200)},
  learned: {title: "Learned", cell: (entry) => [LM.hit(LM.takeaway(entry), 240), LM.isStale(entry) ? [" ", LM.badge("stale", "stale")] : null, entry.never ? [" ", LM.badge("never", "never told")] : null]},
  outcome: {title: "Outcome", of: (entry) => entry.outcome_status, cell: (entry) => LM.outcome(entry.outcome_status)},
  resolved: {title: "Resolved", of: (entry) => -entry.at, cell: (entry) => LM.day(entry.at)},
  project: {title: "Project", of: (entry) => entry.project, cell: (entry) => LM.line(entry.project, 60)},
  confidence: {title: "Sure", of: (entry) => -(LM.stated(entry) ?? -1), cell: (entry) => { const stated = LM.stated(entry); return stated === undefined ? "" : LM.percent(stated); }},
};
LM.hit = (text, most) => (text ? (LM.words.length && LM.marked(text, most)) || LM.line(text, most) : "");
LM.sorting = () => {
  const [name, turn] = (LM.at.sort ?? "").split("-");
  return Object.hasOwn(LM.columns, name) && LM.columns[name].of ? {name, isTurned: turn === "turned"} : {name: LM.words.length ? "relevance" : "resolved", isTurned: false};
};
LM.sorted = (entries) => {
  const {name, isTurned} = LM.sorting();
  if (name === "relevance") return LM.byRelevance(entries, LM.kinds[0].texts);
  const sorted = d3.sort(entries, LM.columns[name].of);
  return isTurned ? sorted.reverse() : sorted;
};

LM.entryTable = (entries) => {
  const {name: by, isTurned} = LM.sorting();
  const columns = Object.entries(LM.columns).filter(([name]) =>
    name === "project" ? LM.projects.length > 1 && !LM.at.project : name !== "confidence" || LM.data.entries.some((entry) => LM.stated(entry) !== undefined));
  const isFalling = (name) => (name === "resolved" || name === "confidence") !== isTurned;
  const title = (name, column) => (!column.of ? column.title
    : LM.make("button", {type: "button", class: "sort", click: () => LM.go({sort: by === name && !isTurned ? `${name}-turned` : name})}, column.title, LM.make("span", {"aria-hidden": "true"}, by !== name ? "" : isFalling(name) ? " ↓" : " ↑")));
  const head = LM.make("tr", {}, columns.map(([name, column]) => LM.make("th", {scope: "col", class: name, "aria-sort": by !== name ? null : isFalling(name) ? "descending" : "ascending"}, title(name, column))));
  return LM.table(by === "relevance" ? "The most relevant first." : null, head, entries, (entry) =>
    LM.make("tr", {"data-entry": entry.id}, columns.map(([name, column]) => LM.make("td", {class: name, "data-title": column.of && name !== "confidence" ? null : column.title}, column.cell(entry)))));
};
LM.table = (say, head, things, row, kind = "entries", first = 100) => {
  const body = LM.make("tbody", {});
  const card = LM.make("section", {class: "card"}, say && LM.make("p", {class: "say"}, say), LM.make("table", {class: kind}, LM.make("thead", {}, head), body));
  LM.more(things, row, body, card, first);
  return card;
};
