"use strict";
// Search: matches everything that has all typed words, in any form, and lists it.

// The stem of an English word, roughly: "caches", "cached" and "caching" are one, and so are "query" and "queries".
LM.stems = new Map();
LM.stem = (word) => {
  let stem = LM.stems.get(word);
  if (stem !== undefined) return stem;
  stem = word;
  if (stem.length > 3) {
    stem = stem.replace(/ies$/, "y").replace(/(x|z|ch|sh|ss)es$/, "$1").replace(/([^su])s$/, "$1");
    stem = stem.replace(/(?:iz)?ations?$/, "at").replace(/(?:ness|ments?|ably|ible|able)$/, "").replace(/(..[^aeiou])ions?$/, "$1").replace(/([^l])ly$/, "$1");
    const root = stem.replace(/(?:ing|ed|er|or)$/, "");
    if (root !== stem && root.length > 2 && /[aeiouy]/.test(root)) stem = root.replace(/([^aeiouylsz])\1$/, "$1");
    stem = stem.replace(/e$/, "").replace(/(.{4})at$/, "$1").replace(/y$/, "i");
    if (stem.length < 3) stem = word;
  }
  LM.stems.set(word, stem);
  return stem;
};
LM.tokens = (text) => text.match(/[\p{L}\p{N}]+/gu) ?? [];

// The texts of a thing, and their stems with a space before each: a stem is looked for from its beginning, so that a word
// is found while it is typed.
LM.texts = (value) => {
  const found = [];
  const walk = (part) => {
    if (typeof part === "string") found.push(part);
    else if (part && typeof part === "object" && !(part instanceof Date)) Object.values(part).forEach(walk);
  };
  walk(value);
  return found.join("\n").toLowerCase();
};
LM.textsOf = new WeakMap();
LM.hasWords = (thing, texts = () => LM.texts(thing)) => {
  if (!LM.words.length) return true;
  let known = LM.textsOf.get(thing);
  if (!known) LM.textsOf.set(thing, (known = {text: texts(), stems: null}));
  return LM.words.every((word) => {
    if (known.text.includes(word)) return true;
    known.stems ??= ` ${LM.tokens(known.text).map(LM.stem).join(" ")}`;
    const stems = LM.tokens(word).map(LM.stem);
    return stems.length > 0 && stems.every((stem) => known.stems.includes(` ${stem}`));
  });
};

// The most relevant first: a word counts for more in the first of a thing's texts, whole, and in a short text.
LM.byRelevance = (things, texts) => {
  if (!LM.words.length) return things;
  const stems = LM.words.flatMap(LM.tokens).map(LM.stem);
  const score = (thing) => d3.sum(stems, (stem) => d3.max(texts(thing), (text, at) => {
    const found = text ? LM.tokens(text.toLowerCase()).map(LM.stem).filter((word) => word.startsWith(stem)) : [];
    return found.length ? ((found.includes(stem) ? 1 : 0.6) + 0.1 * Math.min(found.length, 3) + 4 / (text.length + 40)) / (1 + 0.3 * at) : 0;
  }));
  return d3.sort(things.map((thing) => [score(thing), thing]), ([one]) => -one).map(([, thing]) => thing);
};

// A part of a text around the first word that was found, with all such words marked.
LM.marked = (text, most = 200) => {
  const wanted = LM.words.flatMap(LM.tokens).map((word) => [word, LM.stem(word)]);
  const isHit = (part) => { const word = part.toLowerCase(); return wanted.some(([typed, stem]) => word.includes(typed) || LM.stem(word).startsWith(stem)); };
  const line = LM.plain(text).replace(/\s+/g, " ");
  const first = [...line.matchAll(/[\p{L}\p{N}]+/gu)].find((match) => isHit(match[0]));
  if (!first) return null;
  // From the beginning of a word.
  const from = first.index < most / 3 ? 0 : line.indexOf(" ", first.index - most / 3) + 1;
  const shown = `${from ? "…" : ""}${line.slice(from, from + most)}${line.length > from + most ? "…" : ""}`;
  return LM.make("span", {class: "text short", dir: "auto"}, shown.split(/([\p{L}\p{N}]+)/u).map((part, at) => (at % 2 && isHit(part) ? LM.make("mark", {}, part) : part)));
};

// What can be found: for each kind its things, their name, their address, and the texts that a hit is shown from.
LM.kinds = [
  {view: "entries", title: "Entries", things: () => LM.data.entries, filter: LM.matches, name: (entry) => LM.takeaway(entry) || entry.goal, texts: (entry) => [entry.lesson?.takeaway, entry.goal, entry.root_cause?.description, entry.hypothesis, entry.outcome_result, entry.surprise, entry.lesson?.what_worked, entry.action, entry.prediction]},
  {kind: "open", view: "overview", title: "Open entries", things: () => LM.data.open, name: (entry) => entry.goal, texts: (entry) => [entry.goal, entry.hypothesis, entry.action, entry.prediction]},
  {view: "values", title: "Values", things: () => LM.data.values, name: (value) => value.text, texts: (value) => [value.text]},
  {view: "failures", title: "Errors of commands", things: () => LM.data.errors, name: (error) => error.line, texts: (error) => [error.line, error.command, error.followed]},
  {kind: "shared", view: "entries", of: "shared", title: "Shared lessons", things: () => LM.data.shared, name: (entry) => LM.takeaway(entry) || entry.goal, texts: (entry) => [entry.goal, entry.hypothesis, entry.outcome_result, entry.author, LM.takeaway(entry)]},
  {view: "rules", title: "Rules", things: () => LM.rulesHere(), filter: () => true, name: (rule) => rule.text, texts: (rule) => [rule.text, rule.when]},
  {view: "reviews", title: "Reviews", things: () => LM.data.waiting.filter((each) => each.kind === "rule"), name: (each) => each.text, texts: (each) => [each.text, each.about, each.fared]},
  {view: "memories", title: "Memories", things: () => LM.data.memories, name: (memory) => memory.metadata.title || memory.text, texts: (memory) => [memory.text, JSON.stringify(memory.metadata)]},
];
LM.clustersFound = () => Object.entries(LM.data.axes).flatMap(([axis, found]) => found.clusters.filter((cluster) => LM.hasWords(cluster, () => LM.texts([cluster.label, cluster.takeaway, cluster.cluster_id]))).map((cluster) => ({axis, cluster})));
LM.hitsOf = (kind) => LM.byRelevance(kind.filter ? kind.things().filter(kind.filter) : LM.select(kind.things()), kind.texts);
LM.hitCount = () => d3.sum(LM.kinds, (kind) => LM.hitsOf(kind).length) + LM.clustersFound().length;

LM.views.push({
  name: "search",
  title: "Found",
  say: "Everything that has all your words, in any form: “cached” finds “caching”.",
  isHidden: () => !LM.words.length,
  hasEntries: true,
  count: () => LM.hitCount(),
  draw: (view) => {
    const kinds = LM.kinds.map((kind) => ({...kind, hits: LM.hitsOf(kind)})).filter((kind) => kind.hits.length);
    const clusters = LM.clustersFound();
    if (!LM.words.length) return view.append(LM.nothing("Nothing to search for yet.", "Type some words above, or press / to get there."));
    if (!kinds.length && !clusters.length) return view.append(LM.nothing("Nothing was found.", "Try fewer words, or search by meaning:", "search", LM.words.join(" "), ...LM.inProject()));
    for (const kind of kinds) {
      const most = 6, more = kind.hits.length - most;
      view.append(LM.make("section", {class: "card hits", "data-kind": kind.kind ?? kind.view},
        LM.make("h3", {}, `${kind.title} `, LM.make("span", {class: "n"}, kind.hits.length.toLocaleString("en"))),
        LM.make("ul", {class: "rows tight"}, kind.hits.slice(0, most).map((thing) => {
          const where = kind.texts(thing).filter(Boolean).map((text) => LM.marked(text)).find(Boolean);
          return LM.make("li", {}, LM.anchor(kind.view === "reviews" ? {view: "reviews"} : {show: thing.id}, {class: "text short", dir: "auto"}, LM.short(kind.name(thing), 140)), where && LM.make("div", {class: "soft small"}, where));
        })),
        more > 0 ? LM.make("p", {class: "small"}, LM.anchor({view: kind.view, of: kind.of}, {}, `All ${kind.hits.length.toLocaleString("en")} in ${kind.title}`)) : null,
      ));
    }
    if (clusters.length) view.append(LM.card("Clusters", null, LM.make("ul", {class: "links"}, clusters.slice(0, 12).map(({axis, cluster}) => LM.make("li", {}, LM.make("span", {class: "soft small"}, LM.axisName(axis)), LM.clusterLink(axis, cluster))))));
  },
});
