"use strict";
// The map beside the clusters: similar entries are near each other. Colour and shape are the outcome, as everywhere on this
// page; a cluster is an area, with the number of its card.

LM.addMap = (box, points, clusters, axis) => {
  const card = LM.make("section", {class: "card map"}, LM.make("p", {class: "say"}, "Each sign is an entry, near those that are like it. Areas have the numbers of the clusters."));
  box.append(card);
  const width = Math.max(260, card.clientWidth - (LM.isNarrow() ? 28 : 40));
  const height = Math.round(Math.min(width * (LM.isNarrow() ? 1.1 : 0.92), 640));
  card.append(LM.zoomable(width, height, (transform) => LM.drawMap(points, clusters, axis, width, height, transform)));
};

LM.drawMap = (all, clusters, axis, width, height, transform) => {
  const pad = LM.isNarrow() ? 36 : 54;
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
  const size = points.length > 2000 ? 2 : points.length > 400 ? 3 : points.length > 60 ? 4 : 6;
  // Thousands of signs are on the same pixels: one for each cluster is enough for what is drawn around them.
  const signs = [...d3.rollup(points, ([point]) => ({x: x(point.x), y: y(point.y), cluster: point.cluster}), (point) => `${Math.round(x(point.x))} ${Math.round(y(point.y))} ${point.cluster?.cluster_id}`).values()];
  const areas = LM.areas(signs, size);
  const named = LM.named(areas, signs, clusters, axis, size, width, height);
  const title = (point) =>
    [
      LM.short(point.entry.goal, 110),
      `${LM.outcomes[point.entry.outcome_status].name}, ${LM.date(point.entry.resolved_at)}`,
      LM.takeaway(point.entry) && `→ ${LM.short(LM.takeaway(point.entry), 150)}`,
      point.cluster ? `in ${axis.clusters.indexOf(point.cluster) + 1}: ${LM.short(point.cluster.label, 60)}` : "in no cluster",
    ].filter(Boolean).join("\n");
  const common = {x: (point) => x(point.x), y: (point) => y(point.y)};
  return LM.chart(
    `Map of ${LM.count(points.length, "entry", "entries")} and ${LM.count(new Set(areas.map((area) => area.cluster)).size, "cluster")}`,
    {
      width,
      height,
      margin: 0,
      x: {axis: null, type: "identity"},
      y: {axis: null, type: "identity"},
      color: {type: "identity"},
      symbol: {domain: Object.keys(LM.outcomes), range: Object.values(LM.outcomes).map((outcome) => outcome.symbol)},
      marks: [
        () => LM.drawAreas(areas),
        // Two marks: what all signs of a mark share is set once, which draws thousands faster.
        ...[points.filter((point) => !point.cluster), points.filter((point) => point.cluster)].map((some, isMember) =>
          Plot.dot(some, {...common, symbol: (point) => point.entry.outcome_status, r: size, fill: (point) => LM.outcomes[point.entry.outcome_status].colour, fillOpacity: isMember ? 0.9 : 0.45, stroke: "var(--card)", strokeWidth: size > 3 ? 0.8 : 0.3})),
        () => LM.drawNames(named),
        Plot.tip(points, Plot.pointer(LM.tip({...common, title, maxRadius: 24}))),
      ],
    },
    {
      pick: (point) => LM.go({show: point.entry.id}),
      signs: () => [...points].sort((a, b) => a.entry.at - b.entry.at).map((point) => ({x: x(point.x), y: y(point.y), text: title(point), open: () => LM.go({show: point.entry.id})})),
    },
  );
};

// The area of a cluster is the Voronoi cells of its members, each cut off at a distance. So an area has every member, areas
// never cross, and members far away have an area of their own, which gets the same number, or if they are few of many a line
// to the others.
LM.areas = (signs, size) => {
  // On one pixel there may be signs of several clusters: of points at the same place, Delaunay's triangles have only one.
  const seats = new Map();
  for (const sign of signs) {
    const seat = `${Math.round(sign.x)} ${Math.round(sign.y)}`, before = seats.get(seat) ?? 0;
    seats.set(seat, before + 1);
    sign.x += 1.2 * before;
  }
  const delaunay = d3.Delaunay.from(signs, (sign) => sign.x, (sign) => sign.y);
  const apart = (one, other) => Math.hypot(signs[one].x - signs[other].x, signs[one].y - signs[other].y);
  const friends = signs.map((sign, at) => (sign.cluster ? [...delaunay.neighbors(at)].filter((other) => signs[other].cluster === sign.cluster) : []));
  const usual = d3.quantile(friends.flatMap((some, at) => some.map((other) => apart(at, other))), 0.75) ?? 0;
  const reach = Math.min(Math.max(0.6 * usual, 2.2 * size + 4, 15), LM.isNarrow() ? 34 : 52);
  const areas = [], done = new Set();
  signs.forEach((sign, start) => {
    if (!sign.cluster || done.has(start)) return;
    const members = [start];
    done.add(start);
    for (const at of members) for (const other of friends[at]) if (!done.has(other) && apart(at, other) < 2 * reach) { done.add(other); members.push(other); }
    areas.push({cluster: sign.cluster, reach, members: members.map((at) => signs[at]), cells: members.map((at) => LM.cell(signs, delaunay, at, reach))});
  });
  for (const some of d3.group(areas, (area) => area.cluster).values()) {
    const [largest, ...others] = d3.sort(some, (area) => -area.members.length), total = d3.sum(some, (area) => area.members.length);
    for (const area of others) area.main = total > 40 && area.members.length < total / 8 ? largest : null;
  }
  for (const area of areas) for (const sign of area.members) sign.area = area;
  return areas;
};
// A cell as its corners; `isBorder` says whether the edge after a corner is on the border of the area.
LM.cell = (signs, delaunay, at, reach) => {
  const here = signs[at];
  let corners = d3.range(24).map((step) => ({x: here.x + reach * Math.cos((step * Math.PI) / 12), y: here.y + reach * Math.sin((step * Math.PI) / 12), isBorder: true}));
  for (const other of delaunay.neighbors(at)) {
    const there = signs[other], [right, down] = [there.x - here.x, there.y - here.y];
    const far = Math.hypot(right, down);
    if (far < 1e-6 || far >= 2 * reach) continue;
    const isBorder = there.cluster !== here.cluster;
    // How far a corner is beyond the line in the middle; to another cluster there is a gap.
    const beyond = (corner) => ((corner.x - here.x) * right + (corner.y - here.y) * down) / far - far / 2 + (isBorder ? Math.min(1.5, far / 4) : 0);
    corners = corners.flatMap((corner, number) => {
      const next = corners[(number + 1) % corners.length], [from, to] = [beyond(corner), beyond(next)];
      const share = from / (from - to), crossing = {x: corner.x + share * (next.x - corner.x), y: corner.y + share * (next.y - corner.y)};
      return [...(from <= 0 ? [corner] : []), ...(from <= 0 !== to <= 0 ? [{...crossing, isBorder: from <= 0 ? isBorder : corner.isBorder}] : [])];
    });
  }
  return corners;
};
LM.drawAreas = (areas) => {
  const group = d3.create("svg:g").attr("data-mark", "areas");
  const at = ({x, y}) => `${x.toFixed(1)},${y.toFixed(1)}`;
  for (const {cells, cluster, main, members} of areas) {
    const area = group.append("g").attr("data-area", cluster.cluster_id);
    if (main) {
      const near = d3.least(main.members, (sign) => Math.hypot(sign.x - members[0].x, sign.y - members[0].y));
      area.append("path").attr("d", `M${at(members[0])}L${at(near)}`).attr("class", "area-tether");
    }
    area.append("path").attr("d", cells.filter((cell) => cell.length).map((cell) => `M${cell.map(at).join("L")}Z`).join("")).attr("class", "area-fill");
    area.append("path").attr("d", cells.flatMap((cell) => cell.map((corner, number) => (corner.isBorder ? `M${at(corner)}L${at(cell[(number + 1) % cell.length])}` : ""))).join("")).attr("class", "area-border");
  }
  return group.node();
};

// Where names stand: the eight places around an area of Christensen, Marks and Shieber (1995), from near to far, the largest
// area first. The first place that covers no sign, no other area and no other name is taken; where a name has none, its
// number alone has one on a spiral around the area, with a line to it: off other areas, or at least off signs and names.
LM.named = (areas, signs, clusters, axis, size, width, height) => {
  const taken = [], named = new Set();
  const covers = (one, other) => one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
  const outside = (box, sign) => Math.hypot(Math.max(box[0] - sign.x, 0, sign.x - box[2]), Math.max(box[1] - sign.y, 0, sign.y - box[3]));
  const isFree = (box, area, wantsOwn = true) => box[0] >= 2 && box[1] >= 2 && box[2] <= width - 2 && box[3] <= height - 2
    && !taken.some((other) => covers(box, other))
    && !signs.some((sign) => outside(box, sign) < (wantsOwn && sign.area && sign.area !== area ? area.reach : size + 2));
  const found = [];
  for (const area of d3.sort(areas.filter((each) => !each.main), (each) => -each.members.length)) {
    const number = axis.clusters.indexOf(area.cluster) + 1;
    const [left, right] = d3.extent(area.members, (sign) => sign.x), [top, bottom] = d3.extent(area.members, (sign) => sign.y);
    const [across, down] = [(left + right) / 2, (top + bottom) / 2];
    const lines = LM.isNarrow() || named.has(area.cluster) || clusters.length > 14 ? [] : LM.wrapped(LM.short(LM.clusterName(area.cluster), 56), 28);
    for (const text of lines.length ? [lines, []] : [[]]) {
      const half = text.length ? d3.max(text, LM.widthOf) / 2 + 12 : 9, tall = Math.max(9, text.length * 8 + 1);
      const places = [2, 16, 30, 46].flatMap((more) => {
        const [beside, above] = [area.reach + half + more, area.reach + tall + more];
        return [[across, top - above], [across, bottom + above], [right + beside, down], [left - beside, down], [right + half / 2, top - above], [left - half / 2, top - above], [right + half / 2, bottom + above], [left - half / 2, bottom + above]];
      });
      const around = d3.range(220).map((step) => [across + 12 * Math.sqrt(step) * Math.cos(2.4 * step), down + 12 * Math.sqrt(step) * Math.sin(2.4 * step)]);
      const at = ([x, y]) => [x - half, y - tall, x + half, y + tall];
      const place = places.map(([x, y]) => [Math.min(Math.max(x, half + 3), width - half - 3), y]).find((place) => isFree(at(place), area));
      if (!place && text.length) continue;
      const [x, y] = place ?? around.find((each) => isFree(at(each), area)) ?? around.find((each) => isFree(at(each), area, false)) ?? [across, down];
      const box = at([x, y]);
      taken.push(box);
      named.add(area.cluster);
      const near = d3.least(area.members, (sign) => outside(box, sign));
      found.push({x, y, number, text, half, near, start: [Math.min(Math.max(near.x, box[0]), box[2]), Math.min(Math.max(near.y, box[1]), box[3])], isFar: outside(box, near) > area.reach + 12});
      break;
    }
  }
  return found;
};
// How wide a line of a name is, in pixels.
LM.widthOf = (line) => {
  LM.pen ??= Object.assign(document.createElement("canvas").getContext("2d"), {font: "600 12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"});
  return LM.pen.measureText(line).width;
};
LM.drawNames = (named) => {
  const group = d3.create("svg:g").attr("data-mark", "names");
  for (const {x, y, number, text, half, near, start, isFar} of named) {
    if (isFar) group.append("line").attr("x1", start[0]).attr("y1", start[1]).attr("x2", near.x).attr("y2", near.y).attr("class", "area-border");
    const name = group.append("g").attr("data-name", number);
    const left = text.length ? x - half + 9 : x;
    name.append("circle").attr("cx", left).attr("cy", y).attr("r", 8.5).attr("class", "number-back");
    name.append("text").attr("x", left).attr("y", y).attr("dy", "0.35em").attr("text-anchor", "middle").attr("class", "number-text").text(number);
    text.forEach((line, at) => name.append("text").attr("x", left + 13).attr("y", y + (at - (text.length - 1) / 2) * 14.5).attr("dy", "0.35em").attr("text-anchor", "start").attr("class", "name-text").text(line));
  }
  return group.node();
};
// A text in one line, or in two of about the same length.
LM.wrapped = (text, column) => { const cut = text.length <= column ? -1 : text.lastIndexOf(" ", Math.ceil(text.length / 2) + 3); return cut < 1 ? [text] : [text.slice(0, cut), text.slice(cut + 1)]; };
