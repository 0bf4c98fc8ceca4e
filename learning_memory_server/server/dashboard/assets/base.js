"use strict";
// What all views share: the data, what is searched for, and how elements are made. Stored text only ever becomes text
// nodes: nothing on this page parses it as HTML.

const LM = {views: [], data: null, at: {}, words: []};

LM.read = (text) => {
  const data = JSON.parse(text);
  LM.data = data;
  LM.number = new Map(data.entries.map((entry, number) => [entry.id, number]));
  LM.value = new Map(data.values.map((value) => [value.id, value]));
  LM.sharedLesson = new Map(data.shared.map((entry) => [entry.id, entry]));
  LM.memory = new Map(data.memories.map((memory) => [memory.id, memory]));
  LM.opened = new Map(data.open.map((entry) => [entry.id, entry]));
  LM.madeAt = new Date(data.made_at);
  data.entries.forEach((entry) => { entry.at = new Date(entry.resolved_at); });
  const named = [data.entries, data.open, data.errors, data.memories, data.values, data.shared].flatMap((things) => things.map((thing) => thing.project));
  LM.projects = [...new Set(named)].sort();
  // How often each thing was shown, and how often it helped and misled.
  LM.effects = d3.rollup(
    data.advice.flatMap((advice) => advice.items.map((item) => ({id: item.id, entry: advice.entry, effect: item.effect}))),
    (items) => {
      const entries = (some) => new Set(some.map((item) => item.entry)).size;
      return {shown: entries(items), helped: entries(items.filter((item) => item.effect === "helped")), misled: entries(items.filter((item) => item.effect === "misled"))};
    },
    (item) => item.id,
  );
  for (const axis of Object.values(data.axes)) {
    // The cluster of each entry, by its number.
    axis.clusterOf = new Map();
    axis.clusters.forEach((cluster) => cluster.members.forEach((number) => axis.clusterOf.set(number, cluster)));
  }
};

// Makes control characters visible. Invisible characters are visible in the data already.
LM.plain = (text) =>
  String(text ?? "").replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g,
    (character) => (character === "\r" ? "" : `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`),
  );
LM.short = (text, most = 160) => {
  // Cut first: a table shortens thousands of long texts.
  const line = LM.plain(String(text ?? "").slice(0, 4 * most)).replace(/\s+/g, " ").trim();
  if (line.length <= most) return line;
  // After a whole word, unless that is very long.
  const cut = line.slice(0, most - 1), space = line[most - 1] === " " ? -1 : cut.lastIndexOf(" ");
  return `${(space > most / 2 ? cut.slice(0, space) : cut).replace(/[\s,;:]+$/, "")}…`;
};

// Makes an element. Attributes that are functions listen; children are elements or text.
LM.make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else if (key === "style") Object.assign(element.style, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...LM.kept(...children));
  return element;
};
LM.kept = (...children) => children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
LM.text = (text, tag = "p") => LM.make(tag, {class: "text", dir: "auto"}, LM.plain(text));
LM.line = (text, most, tag = "span") => LM.make(tag, {class: "text short", dir: "auto"}, LM.short(text, most));

// Each outcome has a shape and a colour, so that neither is needed to tell them apart.
LM.outcomes = {
  confirmed: {name: "confirmed", colour: "var(--held)", area: "var(--held-area)", symbol: d3.symbolCircle},
  falsified: {name: "falsified", colour: "var(--missed)", area: "var(--missed-area)", symbol: d3.symbolDiamond2},
  abandoned: {name: "abandoned", colour: "var(--dropped)", area: "var(--dropped-area)", symbol: d3.symbolTriangle},
};
LM.axes = {full: "whole task", strategy: "how tried", surprise: "what surprised", root_cause: "why wrong"};
// The name of an axis, as commands take it, with what it means.
LM.axisName = (axis) => `${axis} (${LM.axes[axis]})`;

LM.count = (number, noun, nouns) => `${number.toLocaleString("en")} ${number === 1 ? noun : nouns ?? `${noun}s`}`;
LM.day = d3.utcFormat("%-d %b %Y");
LM.date = (text) => LM.day(new Date(text));
LM.percent = (share) => `${Math.round(100 * share)} %`;
// What an entry taught: its takeaway, else why its belief was wrong. What worked once is no lesson.
LM.takeaway = (entry) => entry.lesson?.takeaway || entry.root_cause?.description || "";
// Stale: its files changed, or a later entry replaced it.
LM.isStale = (entry) => Boolean(entry.superseded_by || entry.freshness);
// Below this many judged entries a share says little, so counts are shown instead.
LM.few = 10;
LM.share = (part, of) => (of < LM.few ? `${part.toLocaleString("en")} of ${of.toLocaleString("en")}` : LM.percent(part / of));

// A command to copy.
LM.program = "learning-memory-server";
LM.command = (...words) => [LM.program, ...words].map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
LM.inProject = () => { const project = LM.at.project || LM.data.project; return project ? ["--project", project] : []; };
LM.act = (...words) => {
  // A line breaks between words only, so that no option is torn.
  const text = LM.make("code", {tabindex: "0"}, LM.command(...words).split(" ").map((word, at) => [at ? " " : "", LM.make("span", {class: word.length < 36 ? "whole" : null}, word)]));
  const button = LM.make("button", {type: "button", "aria-label": `Copy ${text.textContent}`, click: async () => {
    getSelection().selectAllChildren(text);
    // A chat may forbid it; then the selected text can be copied by hand.
    await navigator.clipboard?.writeText(text.textContent).then(() => { button.textContent = "Copied"; }, () => {});
  }}, "Copy");
  return LM.make("span", {class: "act"}, text, button);
};

// Wilson's 95 % interval of a share, as the program computes it.
LM.interval = (held, total) => {
  if (!total) return [0, 1];
  const z = 1.959963984540054, share = held / total;
  const middle = share + (z * z) / (2 * total);
  const spread = z * Math.sqrt((share * (1 - share)) / total + (z * z) / (4 * total * total));
  const scale = 1 + (z * z) / total;
  return [held ? (middle - spread) / scale : 0, held < total ? (middle + spread) / scale : 1];
};

// Parts that several views share.
LM.card = (title, say, ...content) =>
  LM.make("section", {class: "card"}, title && LM.make("h3", {}, title), say && LM.make("p", {class: "say"}, say), ...content);
// An empty view: why it is empty, and what to do next.
LM.nothing = (title, say, ...words) => LM.make("div", {class: "card nothing"}, LM.make("strong", {}, title), LM.make("p", {}, say), words.length ? LM.act(...words) : null);
LM.nothingFound = () => LM.nothing("Nothing matches.", "Remove a search word or a filter above.");
LM.badge = (kind, text) => LM.make("span", {class: `badge ${kind}`}, text ?? kind);
LM.outcome = (status) => {
  const outcome = LM.outcomes[status];
  const sign = LM.sign(outcome ?? {symbol: d3.symbolSquare2, colour: "currentColor"}, 11);
  return LM.make("span", {class: `badge ${status}`}, sign, outcome ? outcome.name : status);
};
LM.sign = (outcome, size = 13) => {
  const svg = d3.create("svg:svg").attr("viewBox", "-8 -8 16 16").attr("width", size).attr("height", size).attr("aria-hidden", "true");
  svg.append("path").attr("d", d3.symbol(outcome.symbol, 90)()).style("fill", outcome.colour);
  return svg.node();
};
LM.switcher = (label, options, chosen, choose) =>
  LM.make(
    "div",
    {class: "switch", role: "group", "aria-label": label},
    Object.entries(options).map(([name, text]) =>
      LM.make("button", {type: "button", "aria-pressed": String(name === chosen), "data-option": name, click: () => choose(name)}, name, LM.make("small", {}, text)),
    ),
  );
LM.axisSwitcher = () => LM.switcher("What to compare", LM.axes, LM.axis(), (axis) => LM.go({axis}));
LM.axis = () => (Object.hasOwn(LM.axes, LM.at.axis) ? LM.at.axis : "full");
LM.key = () => LM.make("span", {class: "key"}, Object.values(LM.outcomes).map((outcome) => LM.make("span", {}, LM.sign(outcome), outcome.name)));
// A hundred rows at a time: thousands would take seconds.
LM.more = (things, row, list, box, first = 100) => {
  const add = (from, to) => {
    list.append(...things.slice(from, to).map(row));
    if (things.length > to) {
      const rest = things.length - to;
      const more = LM.make("button", {type: "button", class: "more", click: () => { more.remove(); add(to, to + 100); }}, `Show ${LM.count(Math.min(rest, 100), "more", "more")} of ${rest.toLocaleString("en")}`);
      box.append(more);
    }
  };
  add(0, first);
};
LM.list = (things, row, className = "rows", first = 100) => {
  const list = LM.make("ul", {class: className});
  const box = LM.make("div", {}, list);
  LM.more(things, row, list, box, first);
  return box;
};
