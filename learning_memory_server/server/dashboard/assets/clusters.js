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
    const clusters = axis.clusters.filter((cluster) => cluster.members.some((number) => shown.has(number)));
    const hasEnough = axis.wanted >= axis.needed;
    // Where nothing could be compared, the notice says why.
    const isBehind = hasEnough && axis.compared < axis.wanted && (axis.compared > 0 || !axis.notice);
    view.append(...LM.kept(
      LM.make("div", {class: "tools"}, LM.axisSwitcher(), hasEnough && LM.key()),
      axis.notice && LM.make("p", {class: "notice"}, LM.plain(axis.notice)),
      isBehind && LM.make("p", {class: "notice"}, `${axis.compared.toLocaleString("en")} of ${axis.wanted.toLocaleString("en")} compared so far: the others are compared in the background. Later, make this page again: `, LM.act("dashboard")),
    ));
    if (!hasEnough && !axis.notice) return view.append(LM.tooFew(name, axis));
    if (!shown.size) return view.append(LM.nothingFound());
    const cards = LM.make("div", {}, LM.list(clusters, (cluster) => LM.clusterCard(name, cluster), "clusters", 12), LM.newAlone(axis.alone.filter((number) => shown.has(number)).map((number) => LM.data.entries[number])));
    if (!clusters.length && axis.compared) cards.prepend(LM.nothing("No cluster yet.", "Nothing recurs often enough."));
    view.append(cards);
  },
});

LM.tooFew = (name, axis) => LM.nothing(`${axis.wanted.toLocaleString("en")} of ${axis.needed.toLocaleString("en")} entries`, `Clusters appear once ${axis.needed.toLocaleString("en")} entries ${name === "full" || name === "strategy" ? "are resolved" : `have a ${name.replace("_", " ")}`}.`);

LM.clusterCard = (axis, cluster) => {
  const members = cluster.members.map((each) => LM.data.entries[each]);
  const values = LM.data.values.filter((value) => value.cluster === cluster.cluster_id && !value.superseded_by && !value.never);
  const name = LM.clusterName(cluster);
  const others = [...new Set(members.map(LM.takeaway))].filter((text) => text && !text.startsWith(name.replace(/…$/, ""))).slice(0, 2);
  const size = LM.numbers[cluster.size] ?? cluster.size.toLocaleString("en");
  const project = members[0]?.project ?? LM.data.project;
  return LM.make("li", {class: "card", "data-cluster": cluster.cluster_id},
    LM.make("div", {class: "soft small"}, `${LM.clusterTitle(axis, cluster)}${LM.short(cluster.label, 60)}`, cluster.last_30_days ? [" · ", LM.make("strong", {}, `${cluster.last_30_days.toLocaleString("en")} in the last 30 days`)] : null),
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
// Entries in no cluster, which come the newest first.
LM.newAlone = (alone) => (alone.length ? LM.card("New, and like no cluster", `${LM.count(alone.length, "entry", "entries")}, the newest first.`, LM.list(alone, (entry) => LM.make("li", {}, LM.sign(LM.outcomes[entry.outcome_status]), LM.make("div", {}, LM.entryLink(entry.id, 140), LM.make("span", {class: "soft small"}, ` ${LM.day(entry.at)}`))), "links", 5)) : null);
