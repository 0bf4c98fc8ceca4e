"use strict";
// The map: similar entries are near each other.

LM.views.push({
  name: "map",
  title: "Map",
  say: "Each sign is an entry. Similar entries are near each other, and clusters, which keep recurring, are outlined and named by what they taught.",
  hasEntries: true,
  things: () => LM.data.entries,
  empty: ["Nothing is on the map yet.", "Each resolved entry becomes a sign here. Add this memory to your agent, or let it learn from past sessions. In a project's folder, run:", "start"],
  count: () => LM.found().length,
  draw: (view) => {
    const name = LM.axis(), axis = LM.data.axes[name];
    const shown = new Set(LM.found().map((entry) => LM.number.get(entry.id)));
    const points = axis.of.map((number, at) => {
      const entry = LM.data.entries[number];
      return {number, entry, x: axis.places[at][0], y: axis.places[at][1], cluster: axis.clusterOf.get(number) ?? null};
    }).filter((point) => shown.has(point.number));
    const clusters = axis.clusters.filter((cluster) => cluster.members.some((number) => shown.has(number)));
    view.append(...LM.kept(
      LM.make("div", {class: "tools"}, LM.axisSwitcher(), LM.key("var(--soft)")),
      axis.notice && LM.make("p", {class: "notice"}, LM.plain(axis.notice)),
      axis.of.length < axis.wanted && LM.make("p", {class: "notice"}, `${axis.of.length.toLocaleString("en")} of ${axis.wanted.toLocaleString("en")} placed: the index is computed in the background. Later, make this page again: `, LM.act("dashboard")),
    ));
    if (!points.length) {
      view.append(axis.of.length ? LM.nothingFound() : LM.nothing("Nothing to draw.", axis.wanted ? "No entry has been placed yet." : `No ${name.replace("_", " ")} has been recorded yet. Agents record one when they falsify an entry.`));
      return;
    }
    const alone = points.filter((point) => !point.cluster).length;
    const side = LM.card(
      clusters.length ? LM.count(clusters.length, "cluster") : "No cluster",
      clusters.length ? "What keeps recurring, most frequent first. The bar shows the outcomes of the members." : "Nothing recurs often enough yet to be a cluster.",
      clusters.length ? LM.key() : null,
      LM.make("div", {class: "clusters"}, clusters.map(LM.clusterRow)),
      alone ? LM.make("p", {class: "aside soft small"}, `${LM.count(alone, "entry", "entries")} in no cluster, drawn pale.`) : null,
    );
    const card = LM.make("section", {class: "card"});
    view.append(LM.make("div", {class: "with-side"}, card, side));
    const width = Math.max(260, card.clientWidth - (LM.isNarrow() ? 28 : 40));
    const height = Math.round(LM.isNarrow() ? width * 1.1 : Math.min(width * 0.78, 640));
    card.append(LM.zoomable(width, height, (transform) => LM.drawMap(points, clusters, width, height, transform)));
  },
});

// A cluster by what it taught, else by its commonest words.
LM.clusterName = (cluster) => cluster.takeaway || cluster.label || cluster.cluster_id;
LM.clusterRow = (cluster) =>
  LM.anchor(
    {show: cluster.cluster_id}, {"data-cluster": cluster.cluster_id},
    LM.make("span", {class: "dot", style: {background: cluster.colour}}),
    LM.make("span", {class: "name", dir: "auto"}, LM.make("span", {class: "soft small"}, `${LM.clusterTitle(LM.axis(), cluster)}${LM.short(cluster.label, 60)}`), LM.make("span", {}, LM.short(LM.clusterName(cluster), 120))),
    LM.make("span", {class: "mix"}, Object.keys(LM.outcomes).map((status) => LM.make("i", {style: {width: `${(100 * (cluster.outcomes[status] ?? 0)) / cluster.size}%`, background: LM.outcomes[status].area}}))),
  );

LM.drawMap = (all, clusters, width, height, transform) => {
  const pad = LM.isNarrow() ? 24 : 40;
  const domain = (of) => {
    // All places are from -1 to 1. A search zooms in on what it finds, but never so far that a single sign fills the map.
    const [low, high] = d3.extent(all, of);
    const middle = (low + high) / 2, reach = Math.max((high - low) / 2, 0.25) * 1.04;
    return [middle - reach, middle + reach];
  };
  const x = transform.rescaleX(d3.scaleLinear(domain((point) => point.x), [pad, width - pad]));
  const y = transform.rescaleY(d3.scaleLinear(domain((point) => point.y), [height - pad, pad]));
  const isSeen = (point) => x(point.x) > -9 && x(point.x) < width + 9 && y(point.y) > -9 && y(point.y) < height + 9;
  const points = transform.k > 1 ? all.filter(isSeen) : all;
  const crowd = points.length > 2000 ? 2 : points.length > 400 ? 3 : points.length > 60 ? 4 : 6;
  const seen = new Set(points.map((point) => point.cluster));
  const byCluster = d3.group(all.filter((point) => point.cluster && seen.has(point.cluster)), (point) => point.cluster);
  // Each member's surroundings, so that the outline is round and nothing lies on it.
  const around = d3.range(0, 2 * Math.PI, Math.PI / 8).map((turn) => [Math.cos(turn), Math.sin(turn)]);
  const room = LM.isNarrow() ? 11 : 17;
  const outlined = [...byCluster].flatMap(([cluster, members]) =>
    LM.core(members).flatMap((point) => around.map(([right, up]) => ({cluster, x: x(point.x) + room * right, y: y(point.y) + room * up}))),
  );
  const title = (point) =>
    [
      LM.short(point.entry.goal, 110),
      `${LM.outcomes[point.entry.outcome_status].name}, ${LM.date(point.entry.resolved_at)}`,
      LM.takeaway(point.entry) && `→ ${LM.short(LM.takeaway(point.entry), 150)}`,
      point.cluster ? `in: ${LM.short(point.cluster.label, 60)}` : "in no cluster",
    ].filter(Boolean).join("\n");
  const common = {x: (point) => x(point.x), y: (point) => y(point.y)};
  return LM.chart(
    `Map of ${LM.count(points.length, "entry", "entries")} and ${LM.count(byCluster.size, "cluster")}`,
    {
      width,
      height,
      margin: 0,
      x: {axis: null, type: "identity"},
      y: {axis: null, type: "identity"},
      color: {type: "identity"},
      symbol: {domain: Object.keys(LM.outcomes), range: Object.values(LM.outcomes).map((outcome) => outcome.symbol)},
      marks: [
        Plot.hull(outlined, {x: "x", y: "y", z: (point) => point.cluster.cluster_id, fill: (point) => point.cluster.colour, stroke: (point) => point.cluster.colour, fillOpacity: 0.07, strokeOpacity: 0.5, strokeWidth: 1.25, curve: "catmull-rom-closed"}),
        // Two marks: what all signs of a mark share is set once, which draws thousands faster.
        ...[points.filter((point) => !point.cluster), points.filter((point) => point.cluster)].map((some, isMember) =>
          Plot.dot(some, {...common, symbol: (point) => point.entry.outcome_status, r: crowd, fill: isMember ? (point) => point.cluster.colour : "var(--noise)", fillOpacity: isMember ? 0.85 : 0.6, stroke: "var(--card)", strokeWidth: crowd > 3 ? 0.8 : 0.3}),
        ),
        Plot.text(LM.placed(LM.groups(clusters, byCluster, points, transform.k === 1 ? () => true : isSeen), x, y, width, height), {x: "x", y: "y", text: "text", fill: "var(--ink)", stroke: "var(--card)", strokeWidth: 4, fontWeight: 600, fontSize: 12, lineHeight: 1.15}),
        Plot.tip(points, Plot.pointer(LM.tip({...common, title, maxRadius: 24}))),
      ],
    },
    {
      pick: (point) => LM.go({show: point.entry.id}),
      signs: () => [...points].sort((a, b) => a.entry.at - b.entry.at).map((point) => ({x: x(point.x), y: y(point.y), text: title(point), open: () => LM.go({show: point.entry.id})})),
    },
  );
};

// The members around the middle of a cluster: a few far away would stretch its outline over others.
LM.core = (members) => {
  const middle = [d3.median(members, (point) => point.x), d3.median(members, (point) => point.y)];
  const far = members.map((point) => Math.hypot(point.x - middle[0], point.y - middle[1]));
  const limit = Math.max(d3.median(far) * 2.4, 0.02);
  return members.filter((_, at) => far[at] <= limit);
};

// What is named: clusters, the largest first; where these are few, also lessons that are in none, the newest first.
LM.groups = (clusters, byCluster, points, isSeen) => [
  ...clusters.filter((cluster) => byCluster.has(cluster)).map((cluster) => ({name: LM.clusterName(cluster), members: LM.core(byCluster.get(cluster)).filter(isSeen), size: byCluster.get(cluster).length})).sort((a, b) => b.size - a.size),
  ...points.filter((point) => !point.cluster && LM.takeaway(point.entry)).slice(0, 40).map((point) => ({name: LM.takeaway(point.entry), members: [point], size: 1})),
].filter(({members}) => members.length);

// Names above or below what they name. One that would cover another is left out: zooming in makes room, and the list next to
// the map has all. So the largest is always named, however crowded the map is.
LM.placed = (groups, x, y, width, height) => {
  const taken = [], [most, column, near] = LM.isNarrow() ? [4, 22, 9] : [8, 32, 14];
  const signs = groups.flatMap(({members}) => members.map((point) => [x(point.x) - near, y(point.y) - near, x(point.x) + near, y(point.y) + near]));
  const covers = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
  const placed = [];
  for (const {name, members, size} of groups) {
    if (placed.length === most || (placed.length > 3 && size === 1)) break;
    const lines = LM.wrapped(LM.short(name, 2 * column), column);
    const half = d3.max(lines, (line) => line.length) * 3.6 + 4, tall = lines.length * 8 + 3;
    const at = Math.min(Math.max(x(d3.mean(members, (point) => point.x)), half), width - half);
    const gap = tall + (LM.isNarrow() ? 14 : 20);
    const [top, bottom] = [y(d3.max(members, (point) => point.y)), y(d3.min(members, (point) => point.y))];
    const places = [top - gap, bottom + gap, (top + bottom) / 2].map((one) => Math.min(Math.max(one, tall), height - tall));
    // Rather where no sign is; where signs are few, only there.
    for (const [middle, isFree] of [...places.map((one) => [one, true]), ...(signs.length > 60 || !placed.length ? places : []).map((one) => [one, false])]) {
      const box = [at - half, middle - tall, at + half, middle + tall];
      if (taken.some((other) => covers(box, other)) || (isFree && signs.some((sign) => covers(box, sign)))) continue;
      taken.push(box);
      placed.push({x: at, y: middle, text: lines.join("\n")});
      break;
    }
  }
  return placed;
};
// A text in one line, or in two of about the same length.
LM.wrapped = (text, column) => { const cut = text.length <= column ? -1 : text.lastIndexOf(" ", Math.ceil(text.length / 2) + 3); return cut < 1 ? [text] : [text.slice(0, cut), text.slice(cut + 1)]; };
