"use strict";
// Clusters in words: what recurs, how it ended, what it teaches, and what can be done about it; then what is new.

// A cluster by what it taught, else by its commonest words.
LM.clusterName = (cluster) => cluster.takeaway || cluster.label || cluster.cluster_id;
LM.numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

LM.views.push({
  name: "clusters",
  title: "Clusters",
  say: "What recurs, the most frequent first: entries that are alike, how they ended, and what they teach.",
  hasEntries: true,
  things: () => LM.data.entries,
  empty: ["Nothing recurs yet.", "Entries that are alike come together here. Add this memory to your agent, or let it learn from past sessions. In a project's folder, run:", "start"],
  count: () => LM.data.axes[LM.axis()].clusters.length,
  draw: (view) => {
    const name = LM.axis(), axis = LM.data.axes[name];
    const shown = new Set(LM.found().map((entry) => LM.number.get(entry.id)));
    const points = axis.of.map((number, at) => ({number, entry: LM.data.entries[number], x: axis.places[at][0], y: axis.places[at][1], cluster: axis.clusterOf.get(number) ?? null})).filter((point) => shown.has(point.number));
    const clusters = axis.clusters.filter((cluster) => cluster.members.some((number) => shown.has(number)));
    const hasEnough = axis.wanted >= axis.needed, wantsMap = hasEnough && LM.at.map === "shown" && points.length > 0;
    view.append(...LM.kept(
      LM.make("div", {class: "tools"}, LM.axisSwitcher(), hasEnough && LM.make("button", {type: "button", class: "toggle", "aria-pressed": String(wantsMap), click: () => LM.go({map: wantsMap ? "" : "shown"})}, "Map"), hasEnough && LM.key()),
      axis.notice && LM.make("p", {class: "notice"}, LM.plain(axis.notice)),
      axis.of.length < axis.wanted && LM.make("p", {class: "notice"}, `${axis.of.length.toLocaleString("en")} of ${axis.wanted.toLocaleString("en")} placed: the index is computed in the background. Later, make this page again: `, LM.act("dashboard")),
    ));
    if (!hasEnough && !axis.notice) return view.append(LM.tooFew(name, axis));
    if (!shown.size) return view.append(LM.nothingFound());
    const cards = LM.make("div", {}, LM.list(clusters, (cluster) => LM.clusterCard(name, cluster, wantsMap && axis.clusters.indexOf(cluster) + 1), "clusters", 12), LM.newAlone(points));
    if (!clusters.length) cards.prepend(LM.nothing("No cluster yet.", "Nothing recurs often enough."));
    view.append(LM.make("div", {class: wantsMap ? "with-map" : ""}, cards));
    if (wantsMap) LM.addMap(cards.parentElement, points, clusters, axis);
  },
});

LM.tooFew = (name, axis) => LM.nothing(`${axis.wanted.toLocaleString("en")} of ${axis.needed.toLocaleString("en")} entries`, `Clusters appear once ${axis.needed.toLocaleString("en")} entries ${name === "full" || name === "strategy" ? "are resolved" : `have a ${name.replace("_", " ")}`}.`);

LM.clusterCard = (axis, cluster, number) => {
  const members = cluster.members.map((each) => LM.data.entries[each]);
  const values = LM.data.values.filter((value) => value.cluster === cluster.cluster_id && !value.superseded_by && !value.never);
  const name = LM.clusterName(cluster);
  const others = [...new Set(members.map(LM.takeaway))].filter((text) => text && !text.startsWith(name.replace(/…$/, ""))).slice(0, 2);
  const size = LM.numbers[cluster.size] ?? cluster.size.toLocaleString("en");
  const project = members[0]?.project ?? LM.data.project;
  return LM.make("li", {class: "card", "data-cluster": cluster.cluster_id},
    LM.make("div", {class: "soft small"}, number ? LM.make("span", {class: "number"}, String(number)) : null, `${LM.clusterTitle(axis, cluster)}${LM.short(cluster.label, 60)}`, cluster.last_30_days ? [" · ", LM.make("strong", {}, `${cluster.last_30_days.toLocaleString("en")} in the last 30 days`)] : null),
    LM.make("h3", {class: "text short", dir: "auto"}, LM.short(name, 200)),
    LM.outcomeBar(cluster),
    values.length || others.length ? LM.make("ul", {class: "teaches small"}, values.map((value) => LM.make("li", {}, LM.badge(LM.standing(value)), " ", LM.valueLink(value))), others.map((text) => LM.make("li", {}, LM.line(text, 140)))) : null,
    LM.make("div", {class: "actions"}, LM.anchor({show: cluster.cluster_id}, {}, `See the ${size}`), LM.ruleMaker("Make it a rule", name, project)));
};
// How the members ended, in words and as a bar.
LM.outcomeBar = (cluster) => {
  const counts = Object.keys(LM.outcomes).map((status) => [status, cluster.outcomes[status] ?? 0]).filter(([, count]) => count);
  return [
    LM.make("div", {class: "facts"}, counts.map(([status, count]) => LM.make("span", {}, LM.sign(LM.outcomes[status], 11), ` ${count.toLocaleString("en")} ${status}`)), LM.make("span", {}, `last ${LM.date(cluster.last_seen)}`)),
    LM.make("span", {class: "mix", "aria-hidden": "true"}, counts.map(([status, count]) => LM.make("i", {style: {width: `${(100 * count) / cluster.size}%`, background: LM.outcomes[status].area}}))),
  ];
};
LM.newAlone = (points) => {
  const alone = d3.sort(points.filter((point) => !point.cluster), (point) => -point.entry.at);
  return alone.length ? LM.card("New, and like no cluster", `${LM.count(alone.length, "entry", "entries")}, the newest first.`, LM.list(alone, (point) => LM.make("li", {}, LM.sign(LM.outcomes[point.entry.outcome_status]), LM.make("div", {}, LM.entryLink(point.entry.id, 140), LM.make("span", {class: "soft small"}, ` ${LM.day(point.entry.at)}`))), "links", 5)) : null;
};
