"use strict";
// The panel with all of an entry, cluster, value, error or memory, whose id is in the address.

LM.reveal = (id) => {
  const dialog = document.getElementById("detail");
  if (!id) {
    if (dialog.open) dialog.close();
    return;
  }
  const number = LM.number.get(id);
  const shared = LM.sharedLesson.get(id);
  const error = LM.data.errors.find((each) => each.id === id || each.failures.some((failure) => failure.id === id));
  const [axis, cluster] = Object.entries(LM.data.axes).map(([axis, found]) => [axis, found.clusters.find((each) => each.cluster_id === id)]).find(([, found]) => found) ?? [];
  if (number !== undefined) LM.show(id, LM.entryParts(LM.data.entries[number], number));
  else if (LM.opened.has(id)) LM.show(id, LM.openParts(LM.opened.get(id)));
  else if (shared) LM.show(id, LM.entryParts(shared));
  else if (LM.value.has(id)) LM.show(id, LM.make("div", {class: "value"}, LM.valueParts(LM.value.get(id))));
  else if (LM.memory.has(id)) LM.show(id, LM.memoryParts(LM.memory.get(id), true), LM.choices(LM.memory.get(id), LM.memory.get(id).text, "forget"));
  else if (error) LM.show(error.id, LM.errorParts(error));
  else if (cluster) LM.show(`${id}, ${LM.axisName(axis)}`, LM.clusterParts(axis, cluster));
  else LM.show(id, LM.make("p", {}, "This page does not have it: it was forgotten, or belongs to another project. Look it up in everything that is stored:"), LM.act("show", id));
};
LM.show = (title, ...content) => {
  const dialog = document.getElementById("detail");
  dialog.replaceChildren(
    LM.make(
      "div",
      {class: "head"},
      LM.make("span", {id: "detail-title", class: "soft small"}, LM.short(title, 120)),
      LM.make("button", {type: "button", class: "close", click: () => dialog.close()}, "Close"),
    ),
    LM.make("div", {class: "body"}, ...LM.kept(content)),
    LM.tray(true),
  );
  LM.showChosen();
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
};

LM.part = (name, text) => (text ? [LM.make("h3", {}, name), LM.text(text)] : []);
LM.tier = {gold: "a full record", silver: "lesson or cause missing", bronze: "a weak hypothesis", abandoned: "not judged"};

LM.entryParts = (entry, number) => {
  const cause = entry.root_cause;
  const lesson = entry.lesson ?? {};
  const effects = LM.effects.get(entry.id);
  const places = number === undefined ? [] : Object.entries(LM.data.axes).flatMap(([axis, found]) => {
    const cluster = found.clusterOf.get(number);
    return cluster ? [LM.make("li", {}, LM.make("span", {class: "soft small"}, LM.axisName(axis)), LM.clusterLink(axis, cluster))] : [];
  });
  return [
    LM.make("div", {class: "facts"}, LM.outcome(entry.outcome_status), LM.make("span", {}, LM.date(entry.resolved_at)), LM.make("span", {}, entry.afterwards ? "written afterwards" : `${entry.domain}, ${entry.strategy}`), LM.make("span", {}, `${entry.confidence_tier}: ${LM.tier[entry.confidence_tier] ?? ""}`), LM.line(entry.project, 80)),
    LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(LM.takeaway(entry) || entry.goal)),
    LM.staleNote(entry),
    entry.author === undefined ? null : LM.make("p", {class: "small"}, LM.plain(entry.shared)),
    effects?.shown ? LM.make("p", {class: "soft small"}, `Shown unasked for ${LM.count(effects.shown, "entry", "entries")}: helped ${effects.helped}, misled ${effects.misled}, according to agents.`) : null,
    entry.same_as ? LM.make("p", {class: "soft small"}, "The same as ", LM.entryLink(entry.same_as), ", according to its agent. `split` takes that back.") : null,
    entry.never ? LM.make("p", {class: "soft small"}, "Told to no agent, as you said.") : null,
    LM.data.waiting.some((each) => each.id === entry.id) ? LM.choices(entry, entry.goal, "yes", "no", "later") : null,
    entry.author === undefined ? LM.choicesOf(entry, entry.goal, "share") : null,
    LM.ruleMaker("Make it a rule", LM.takeaway(entry) || entry.goal, entry.project),
    LM.part("Goal", LM.takeaway(entry) ? entry.goal : ""),
    LM.part("Hypothesis", entry.hypothesis),
    LM.part("Action", entry.action),
    LM.part("Prediction", entry.prediction),
    entry.confidence === undefined ? [] : LM.part("Stated confidence", LM.percent(entry.confidence)),
    LM.part("What happened", entry.outcome_result),
    LM.part("Surprise", entry.surprise),
    cause ? LM.part(`Root cause: ${cause.category}`, cause.description) : [],
    LM.part("What worked", lesson.what_worked),
    LM.part("Errors met", (entry.errors ?? []).join("\n")),
    LM.part("Files", (entry.files ?? []).join("\n")),
    entry.notes && entry.notes.length ? [LM.make("h3", {}, "Notes"), ...entry.notes.map((note) => LM.text(note))] : [],
    entry.history && entry.history.length
      ? [LM.make("h3", {}, "Believed before"), ...entry.history.map((past) => LM.text(past.hypothesis))]
      : [],
    places.length ? [LM.make("h3", {}, "Clusters"), LM.make("ul", {class: "links"}, places)] : [],
    LM.aboutEntry(entry.id),
  ];
};
LM.openParts = (entry) => [
  LM.make("div", {class: "facts"}, LM.badge("unattested", "open"), LM.make("span", {}, `started ${LM.date(entry.created_at)}`), LM.make("span", {}, `${entry.domain}, ${entry.strategy}`), entry.confidence === undefined ? null : LM.make("span", {}, `${LM.percent(entry.confidence)} confident`), LM.line(entry.project, 60)),
  LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(entry.goal)),
  LM.part("Hypothesis", entry.hypothesis),
  LM.part("Action", entry.action),
  LM.part("Prediction", entry.prediction),
  LM.choices(entry, entry.goal, "close"),
];
LM.staleNote = (entry) => {
  if (!LM.isStale(entry)) return null;
  return LM.make("p", {class: "notice"}, LM.make("strong", {}, "Stale: "), LM.staleWords(entry), entry.superseded_by ? [": ", LM.entryLink(entry.superseded_by)] : ".");
};

LM.staleWords = (entry) => [LM.plain(entry.freshness), entry.superseded_by && "a later entry contradicts it"].filter(Boolean).join("; ");

// The values that an entry supports or contradicts.
LM.aboutEntry = (id) => {
  const judged = LM.data.values.flatMap((value) => [
    ...((value.support.supported_by ?? []).includes(id) ? [["supported", value]] : []),
    ...((value.support.contradicted_by ?? []).includes(id) ? [["contested", value]] : []),
  ]);
  if (!judged.length) return [];
  return [
    LM.make("h3", {}, "Values"),
    LM.make("ul", {class: "links"}, judged.map(([kind, value]) => LM.make("li", {}, LM.badge(kind, kind === "supported" ? "supports" : "contradicts"), LM.valueLink(value)))),
  ];
};

LM.thing = (id, text) => LM.anchor({show: id}, {class: "text short", dir: "auto"}, text);
LM.entryLink = (id, most = 110) => {
  const entry = LM.data.entries[LM.number.get(id)] ?? LM.opened.get(id) ?? LM.sharedLesson.get(id);
  return LM.thing(id, entry ? LM.short(entry.goal, most) : LM.short(id, 60));
};
LM.entryRow = (number) => {
  const entry = LM.data.entries[number];
  return LM.make("li", {}, LM.sign(LM.outcomes[entry.outcome_status]), LM.entryLink(entry.id, 140));
};
LM.clusterLink = (axis, cluster) => LM.thing(cluster.cluster_id, LM.short(cluster.label || cluster.cluster_id, 80));
LM.valueLink = (value) => LM.thing(value.id, LM.short(value.text, 140));

LM.clusterParts = (axis, cluster) => {
  const values = LM.data.values.filter((value) => value.cluster === cluster.cluster_id);
  const causes = Object.entries(cluster.root_causes ?? {});
  const lessons = cluster.members.map((number) => LM.data.entries[number]).filter((entry) => LM.takeaway(entry));
  return [
    LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(cluster.takeaway ?? (lessons.length ? LM.short(LM.takeaway(lessons[0]), 400) : LM.short(cluster.label || cluster.cluster_id, 200)))),
    LM.make("div", {class: "facts"}, Object.entries(cluster.outcomes).map(([status, count]) => LM.make("span", {}, `${count} ${LM.outcomes[status].name}`)), LM.make("span", {}, `${LM.date(cluster.first_seen)} to ${LM.date(cluster.last_seen)}`)),
    LM.make("p", {class: "soft"}, LM.clusterTitle(axis, cluster), LM.short(cluster.label || cluster.cluster_id, 200)),
    causes.length ? LM.part("Root causes", causes.map(([name, count]) => `${name} ${count}`).join(", ")) : [],
    LM.ruleMaker("Make it a rule", LM.clusterName(cluster), lessons[0]?.project ?? LM.data.project),
    values.length ? [LM.make("h3", {}, "Values"), LM.make("ul", {class: "links"}, values.map((value) => LM.make("li", {}, LM.badge(LM.standing(value)), LM.valueLink(value))))] : [],
    LM.make("h3", {}, "Members"),
    LM.list(cluster.members, LM.entryRow, "links"),
  ];
};
