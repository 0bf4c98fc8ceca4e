"use strict";
// The address: the view, the search, the filters and what is open, in the part of the page's address behind the #, so
// that each can be bookmarked, sent and gone back to.

// In a chat the page is in a frame, which has no address of its own: there it is only remembered.
LM.isFramed = window.parent !== window;
LM.framedAt = "";
LM.address = () => (LM.isFramed ? LM.framedAt : location.hash.slice(1));

LM.parse = (address) => {
  const [asked, query] = address.replace(/^\//, "").split("?");
  // Bookmarks of earlier pages, which drew clusters as a map.
  const view = asked === "map" ? "clusters" : asked;
  return {...Object.fromEntries(new URLSearchParams(query)), view: LM.views.some((each) => each.name === view) ? view : LM.views[0].name};
};
// The address after some changes, without what is empty. The slash shows that it is no element of this page.
LM.link = (changes = {}, at = LM.at) => {
  const {view, ...rest} = {...at, ...changes};
  const query = new URLSearchParams(Object.entries(rest).filter(([, value]) => value)).toString();
  return `#/${view}${query && `?${query}`}`;
};
LM.go = (changes, isStep = true) => {
  const link = LM.link(changes);
  if (LM.isFramed) LM.framedAt = link.slice(1);
  else if (isStep) return void (location.hash = link);
  // What is typed letter by letter is one step back.
  else history.replaceState(null, "", link);
  LM.route();
};
LM.anchor = (changes, attributes, ...children) =>
  LM.make("a", {...attributes, href: LM.link(changes), click: (event) => {
    if (!LM.isFramed) return;
    event.preventDefault();
    LM.go(changes);
  }}, ...children);

LM.route = () => {
  const before = LM.at.view && LM.link({show: ""});
  LM.at = LM.parse(LM.address());
  LM.words = (LM.at.q ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  if (before !== LM.link({show: ""})) LM.render();
  LM.reveal(LM.at.show ?? "");
};

// Filters: a project and words for everything, the others for entries. Each is a word of the address.
LM.facets = {
  outcome: (entry) => entry.outcome_status,
  domain: (entry) => entry.domain,
  strategy: (entry) => entry.strategy,
  state: (entry) => [LM.isStale(entry) && "stale", entry.never && "never told", LM.effects.get(entry.id)?.helped && "helped", LM.effects.get(entry.id)?.misled && "misled"].filter(Boolean),
};
LM.days = {7: "last 7 days", 30: "last 30 days", 90: "last 90 days", 365: "last year"};
LM.isOfProject = (thing) => !LM.at.project || thing.project === LM.at.project;
LM.isRecent = (entry) => !Object.hasOwn(LM.days, LM.at.days) || LM.madeAt - entry.at <= LM.at.days * 864e5;
LM.passes = (entry, name) => !LM.at[name] || [LM.facets[name](entry)].flat().includes(LM.at[name]);
LM.matches = (entry) => LM.isOfProject(entry) && LM.isRecent(entry) && Object.keys(LM.facets).every((name) => LM.passes(entry, name)) && LM.hasWords(entry);
LM.found = () => LM.data.entries.filter(LM.matches);
// A new list, which views may reverse.
LM.select = (things) => things.filter((thing) => LM.isOfProject(thing) && LM.hasWords(thing));

// The filters in use, each with a link that removes it.
LM.chips = (isOfEntries) => {
  // The project is chosen above, where there are several.
  const names = {q: "words", ...(!document.getElementById("project") && {project: "project"}), ...(isOfEntries && {outcome: "outcome", domain: "domain", strategy: "strategy", days: "resolved", state: "state"})};
  const chips = Object.entries(names).filter(([name]) => LM.at[name]).map(([name, title]) =>
    LM.anchor({[name]: ""}, {class: "chip", "aria-label": `Without ${title} ${LM.short(LM.at[name], 60)}`}, `${title}: ${name === "days" ? (Object.hasOwn(LM.days, LM.at.days) ? LM.days[LM.at.days] : LM.short(LM.at.days, 20)) : LM.short(LM.at[name], 60)}`, LM.make("span", {"aria-hidden": "true"}, " ✕")));
  if (!chips.length) return null;
  const shown = isOfEntries ? LM.make("span", {role: "status"}, `${LM.found().length.toLocaleString("en")} of ${LM.count(LM.data.entries.length, "entry", "entries")} match.`) : null;
  const all = LM.words.length && LM.at.view !== "search" ? LM.anchor({view: "search"}, {}, `Everything with these words: ${LM.hitCount().toLocaleString("en")}`) : null;
  return LM.make("div", {class: "chips small"}, chips, shown, all);
};
