"use strict";
// Values: texts, standing, evidence for and against, and what came of showing them.

LM.standing = (value) => (value.superseded_by ? "superseded" : value.never ? "retired" : value.standing);
// Where a value was shown, with the entry it was shown for.
LM.shownFor = (value) =>
  LM.data.advice.flatMap((advice) =>
    advice.items.filter((item) => item.id === value.id).map((item) => ({advice, item, entry: LM.data.entries[LM.number.get(advice.entry)]})),
  );
LM.cameOf = (shown) => {
  const ended = shown.filter((one) => one.entry);
  const count = (status) => ended.filter((one) => one.entry.outcome_status === status).length;
  const said = (effect) => shown.filter((one) => one.item.effect === effect).length;
  if (!shown.length) return "never shown unasked";
  const parts = [`shown for ${LM.count(new Set(shown.map((one) => one.advice.entry)).size, "entry", "entries")}`];
  if (count("confirmed")) parts.push(`${count("confirmed")} confirmed`);
  if (count("falsified")) parts.push(`${count("falsified")} falsified`);
  if (said("helped")) parts.push(`helped ${said("helped")}`);
  if (said("misled")) parts.push(`misled ${said("misled")}`);
  return parts.join(", ");
};

LM.views.push({
  name: "values",
  title: "Values",
  say: "Principles that your agents drew from clusters, with the evidence for and against each.",
  things: () => LM.data.values,
  empty: ["No value has been made yet.", "In a retrospective, an agent sums up what a cluster has in common. Ask yours for one. It would be about these:", "clusters", "root_cause"],
  count: () => LM.select(LM.data.values).length,
  draw: (view) => {
    const order = {supported: 0, unattested: 1, contested: 2, retired: 3, superseded: 4};
    const values = LM.select(LM.data.values).sort((a, b) => order[LM.standing(a)] - order[LM.standing(b)] || b.support.supporting - a.support.supporting || (a.created_at < b.created_at ? 1 : -1));
    if (!values.length) return view.append(LM.nothingFound());
    view.append(LM.make("div", {class: "cards"}, values.map((value) => LM.make("article", {class: `card value${value.superseded_by || value.never ? " gone" : ""}`, "data-value": value.id}, LM.valueParts(value)))));
  },
});

LM.valueParts = (value) => {
  const {supporting, contradicting, interval} = value.support;
  const judged = supporting + contradicting;
  const next = value.superseded_by && LM.value.get(value.superseded_by);
  const scale = LM.make("span", {class: "scale", role: "img", "aria-label": `95 % interval of the share that supports it: ${LM.percent(interval[0])} to ${LM.percent(interval[1])}`},
    LM.make("i", {style: {left: `${100 * interval[0]}%`, right: `${100 * (1 - interval[1])}%`}}),
    LM.make("b", {style: {left: `calc(${judged ? (100 * supporting) / judged : 50}% - 1px)`}}),
  );
  const axis = value.axis;
  const cluster = LM.data.axes[axis].clusters.find((each) => each.cluster_id === value.cluster);
  const shown = LM.shownFor(value);
  return [
    LM.make("div", {class: "facts"}, LM.badge(LM.standing(value)), judged ? scale : null, LM.make("span", {}, judged ? `${supporting} for, ${contradicting} against; 95 % interval ${LM.percent(interval[0])} to ${LM.percent(interval[1])}` : "no verdict yet"), LM.make("span", {}, LM.cameOf(shown))),
    LM.make("p", {class: "text", dir: "auto"}, LM.thing(value.id, LM.plain(value.text))),
    LM.make("div", {class: "facts"},
      LM.make("span", {}, `made ${LM.date(value.created_at)}`),
      LM.make("span", {class: "labelled"}, LM.make("span", {}, "from"), cluster ? LM.clusterLink(axis, cluster) : LM.plain(value.cluster_id)),
      next && LM.make("span", {class: "labelled"}, LM.make("span", {}, "superseded by"), LM.valueLink(next)),
    ),
    LM.evidence("supports it", value.support.supported_by ?? []),
    LM.evidence("contradicts it", value.support.contradicted_by ?? []),
    shown.length ? LM.make("details", {}, LM.make("summary", {}, "Where it was shown"), LM.list(shown, LM.shownRow, "links")) : null,
    value.superseded_by ? null : [LM.choicesOf(value, value.text, "share"), LM.ruleMaker("Reword it, as a rule of yours in its place", value.text, value.project, value.id)],
  ];
};
LM.shownRow = ({advice, item, entry}) =>
  LM.make("li", {}, entry ? LM.sign(LM.outcomes[entry.outcome_status]) : LM.make("span"),
    LM.make("div", {}, LM.entryLink(advice.entry), LM.make("div", {class: "facts"}, LM.make("span", {}, entry ? LM.outcomes[entry.outcome_status].name : "still open"), item.effect ? LM.badge(item.effect) : null, LM.make("span", {}, LM.matched(item)))));
LM.evidence = (what, ids) =>
  ids.length ? LM.make("details", {}, LM.make("summary", {}, `What ${what}: ${LM.count(ids.length, "entry", "entries")}`), LM.list(ids, (id) => (LM.number.has(id) ? LM.entryRow(LM.number.get(id)) : LM.make("li", {}, LM.make("span"), LM.entryLink(id))), "links")) : null;
