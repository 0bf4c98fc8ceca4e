"use strict";
// The panel that shows all of one thing: an entry, a cluster or a value.

LM.open = (title, ...content) => {
  const dialog = document.getElementById("detail");
  dialog.replaceChildren(
    LM.make(
      "div",
      {class: "head"},
      LM.make("span", {id: "detail-title", class: "soft small"}, title),
      LM.make("button", {type: "button", class: "close", click: () => dialog.close()}, "Close"),
    ),
    LM.make("div", {class: "body"}, ...content),
  );
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
};

LM.part = (name, text) => (text ? [LM.make("h3", {}, name), LM.text(text)] : []);

LM.openEntry = (number) => {
  const entry = LM.data.entries[number];
  const cause = entry.root_cause;
  const lesson = entry.lesson ?? {};
  const places = Object.entries(LM.data.axes).flatMap(([axis, found]) => {
    const cluster = found.clusterOf.get(number);
    return cluster ? [LM.make("li", {}, LM.make("span", {class: "soft small"}, LM.axes[axis]), LM.clusterLink(axis, cluster))] : [];
  });
  LM.open(
    entry.id,
    LM.make("div", {class: "facts"}, LM.outcome(entry.outcome_status), LM.make("span", {}, LM.date(entry.resolved_at)), LM.make("span", {}, `${entry.domain}, ${entry.strategy}`), LM.make("span", {}, entry.confidence_tier), LM.line(entry.project, 80)),
    LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(entry.goal)),
    LM.part("Hypothesis", entry.hypothesis),
    LM.part("Action", entry.action),
    LM.part("Prediction", entry.prediction),
    entry.confidence === undefined ? [] : LM.part("Stated confidence", LM.percent(entry.confidence)),
    LM.part("What happened", entry.outcome_result),
    LM.part("Surprise", entry.surprise),
    cause ? LM.part(`Root cause: ${cause.category}`, cause.description) : [],
    LM.part("What worked", lesson.what_worked),
    LM.part("Takeaway", lesson.takeaway),
    entry.notes && entry.notes.length ? [LM.make("h3", {}, "Notes"), ...entry.notes.map((note) => LM.text(note))] : [],
    entry.history && entry.history.length
      ? [LM.make("h3", {}, "Believed before"), ...entry.history.map((past) => LM.text(past.hypothesis))]
      : [],
    places.length ? [LM.make("h3", {}, "Clusters"), LM.make("ul", {class: "links"}, places)] : [],
    LM.aboutEntry(entry.id),
  );
};

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

LM.entryLink = (id, most = 110) => {
  const number = LM.number.get(id);
  if (number === undefined) return LM.make("span", {class: "soft small"}, `${LM.short(id, 60)} (not in this picture)`);
  return LM.make("button", {type: "button", class: "link text short", dir: "auto", click: () => LM.openEntry(number)}, LM.short(LM.data.entries[number].goal, most));
};
LM.entryRow = (number) => {
  const entry = LM.data.entries[number];
  return LM.make("li", {}, LM.sign(LM.outcomes[entry.outcome_status]), LM.entryLink(entry.id, 140));
};
LM.clusterLink = (axis, cluster) =>
  LM.make("button", {type: "button", class: "link text short", dir: "auto", click: () => LM.openCluster(axis, cluster)}, LM.short(cluster.label || cluster.cluster_id, 80));
LM.valueLink = (value) =>
  LM.make("button", {type: "button", class: "link text short", dir: "auto", click: () => LM.openValue(value)}, LM.short(value.text, 140));

LM.openCluster = (axis, cluster) => {
  const values = LM.data.values.filter((value) => value.cluster === cluster.cluster_id);
  const causes = Object.entries(cluster.root_causes ?? {});
  const lessons = cluster.members.map((number) => LM.data.entries[number]).filter((entry) => LM.takeaway(entry));
  LM.open(
    `${cluster.cluster_id}, ${LM.axes[axis].toLowerCase()}`,
    LM.make("h2", {class: "text short", dir: "auto"}, LM.short(cluster.label || cluster.cluster_id, 200)),
    LM.make("div", {class: "facts"}, LM.make("span", {}, LM.count(cluster.size, "experience")), Object.entries(cluster.outcomes).map(([status, count]) => LM.make("span", {}, `${count} ${LM.outcomes[status].name}`)), LM.make("span", {}, `${LM.date(cluster.first_seen)} to ${LM.date(cluster.last_seen)}`)),
    causes.length ? LM.part("Root causes", causes.map(([name, count]) => `${name} ${count}`).join(", ")) : [],
    LM.part("Lesson", cluster.takeaway ?? (lessons.length ? LM.takeaway(lessons[0]) : "")),
    values.length ? [LM.make("h3", {}, "Values"), LM.make("ul", {class: "links"}, values.map((value) => LM.make("li", {}, LM.badge(LM.standing(value)), LM.valueLink(value))))] : [],
    LM.make("h3", {}, "Members"),
    LM.list(cluster.members, LM.entryRow, "links"),
  );
};
