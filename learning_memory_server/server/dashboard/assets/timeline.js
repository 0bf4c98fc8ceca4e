"use strict";
// The timeline: entries by day with their outcome, how clusters grew, and when values were made and superseded.

LM.views.push({
  name: "timeline",
  title: "Timeline",
  say: "When work was recorded and how it ended, how quickly the largest clusters grew, and when values came and went.",
  hasEntries: true,
  draw: (view) => {
    const entries = LM.found();
    if (!LM.data.entries.length) {
      view.append(LM.nothing("Nothing has been resolved yet.", "The first resolved entry starts this timeline. To learn from past Claude Code sessions, run in a project's folder:", "learn-from"));
      return;
    }
    if (!entries.length) return view.append(LM.nothingFound());
    const width = LM.width();
    const [from, to] = d3.extent(entries, (entry) => entry.at);
    const days = (to - from) / 864e5;
    const [unit, each] = days > 900 ? [d3.utcMonth, "month"] : days > 120 ? [d3.utcMonday, "week"] : [d3.utcDay, "day"];
    const [first, last] = [unit.floor(from), unit.floor(to)];
    // A week at least: the bar of a single day would fill the chart.
    const around = Math.max(0, 3 - unit.count(first, last) / 2);
    const domain = [unit.offset(first, -Math.floor(around)), unit.offset(last, 1 + Math.ceil(around))];
    // For a few days, the default ticks are hours, about which bars by day say nothing.
    const x = {type: "utc", domain, label: null, ...(days < 9 && {ticks: "day"})};
    const base = {width, marginLeft: 40, marginRight: 12, style: {background: "none"}};
    const bars = d3.flatRollup(entries, (group) => group.length, (entry) => +unit.floor(entry.at), (entry) => entry.outcome_status)
      .map(([start, status, count]) => ({start: new Date(start), end: unit.offset(new Date(start), 1), status, count}));
    const format = each === "month" ? d3.utcFormat("%B %Y") : LM.day;
    const when = (bar) => `${each === "day" ? "" : `${each} of `}${format(bar.start)}`;
    view.append(
      LM.card("Entries", `Entries resolved each ${each}, by outcome.`, LM.make("div", {class: "tools"}, LM.key()),
        LM.chart(`Entries for each ${each}`, {
          ...base, height: 220, x, y: LM.counts(d3.max(d3.rollup(bars, (some) => d3.sum(some, (bar) => bar.count), (bar) => +bar.start).values())),
          color: {domain: Object.keys(LM.outcomes), range: Object.values(LM.outcomes).map((outcome) => outcome.area)},
          marks: [
            Plot.rectY(bars, {x1: "start", x2: "end", y: "count", z: "status", fill: "status", order: Object.keys(LM.outcomes), insetLeft: 0.5, insetRight: 0.5}),
            Plot.ruleY([0], {stroke: "var(--line)"}),
            Plot.tip(bars, Plot.pointerX(Plot.stackY(LM.tip({x1: "start", x2: "end", y: "count", z: "status", order: Object.keys(LM.outcomes), title: (bar) => `${when(bar)}\n${LM.count(bar.count, "entry", "entries")} ${LM.outcomes[bar.status].name}`})))),
          ],
        }, {
          signs: (at) => d3.groups(bars, (bar) => +bar.start).sort((a, b) => a[0] - b[0]).map(([, some]) => ({
            x: (at("x", some[0].start) + at("x", some[0].end)) / 2,
            y: at("y", d3.sum(some, (bar) => bar.count)),
            text: [when(some[0]), ...some.map((bar) => `${LM.count(bar.count, "entry", "entries")} ${LM.outcomes[bar.status].name}`)].join("\n"),
          })),
        }),
      ),
      LM.growth(entries, x, base),
      LM.lives(x, base, domain),
    );
  },
});

LM.growth = (entries, x, base) => {
  const axis = LM.data.axes[LM.axis()];
  const shown = new Set(entries.map((entry) => LM.number.get(entry.id)));
  const largest = axis.clusters.filter((cluster) => cluster.members.some((number) => shown.has(number))).slice(0, 8);
  const tools = LM.make("div", {class: "tools"}, LM.axisSwitcher());
  const say = "How the eight largest clusters grew.";
  if (!largest.length) return LM.card("Clusters", say, tools, LM.make("p", {class: "nothing"}, "There is no cluster yet: what recurs often enough becomes one."));
  const steps = largest.flatMap((cluster) => {
    const times = cluster.members.filter((number) => shown.has(number)).map((number) => LM.data.entries[number].at).sort((a, b) => a - b);
    const name = LM.short(cluster.label.split(", ").slice(0, 2).join(", ") || cluster.cluster_id, 28);
    return [...times.map((at, before) => ({at, count: before + 1, cluster, name})), {at: x.domain[1], count: times.length, cluster, name, last: true}];
  });
  const said = (step) => `${step.name}\n${LM.count(step.count, "member")} by ${LM.day(step.at)}`;
  return LM.card("Clusters", say, tools,
    LM.chart("Growth of clusters", {
      ...base, height: 260, x, y: LM.counts(d3.max(steps, (step) => step.count)),
      marks: [
        ...largest.map((cluster) => Plot.line(steps.filter((step) => step.cluster === cluster), {x: "at", y: "count", stroke: cluster.colour, strokeWidth: 2, curve: "step-after"})),
        Plot.tip(steps, Plot.pointer(LM.tip({x: "at", y: "count", title: said}))),
      ],
    }, {
      pick: (step) => LM.go({show: step.cluster.cluster_id}),
      signs: (at) => steps.filter((step) => step.last).map((step) => ({x: at("x", step.at), y: at("y", step.count), text: said(step), open: () => LM.go({show: step.cluster.cluster_id})})),
    }),
    LM.make("div", {class: "key"}, largest.map((cluster) => LM.make("span", {}, LM.make("i", {style: {width: "14px", height: "3px", borderRadius: "2px", background: cluster.colour}}), LM.clusterLink(LM.axis(), cluster)))),
  );
};

LM.lives = (x, base, domain) => {
  const values = LM.select(LM.data.values);
  if (!values.length) return LM.card("Values", null, LM.make("p", {class: "nothing"}, LM.isFiltered() ? "No value matches." : "No value has been made yet."));
  // A name is written across the half of the chart in which its value does not begin; a character is about 6.3 pixels wide.
  const room = Math.min(60, Math.floor((base.width / 2 - 16) / 6.3));
  const lives = values.map((value) => {
    const next = value.superseded_by && LM.value.get(value.superseded_by);
    return {value, from: new Date(value.created_at), to: next ? new Date(next.created_at) : null, name: LM.short(value.text, room)};
  }).sort((a, b) => a.from - b.from).slice(-30);
  const end = d3.max([domain[1], ...lives.map((life) => d3.utcDay.offset(life.from, 1))]);
  const said = (life) => `${LM.short(life.value.text, 200)}\nmade ${LM.day(life.from)}${life.to ? `, superseded ${LM.day(life.to)}` : ""}`;
  return LM.card("Values", "When each value was in force. A cross marks where another superseded it.",
    LM.chart("When values were in force", {
      ...base, marginLeft: 12, height: lives.length * 34 + 34, x: {...x, domain: [d3.min([domain[0], ...lives.map((life) => life.from)]), end]}, y: {axis: null, domain: lives.map((life) => life.value.id)},
      marks: [
        Plot.ruleY(lives, {y: (life) => life.value.id, x1: "from", x2: (life) => life.to ?? end, stroke: (life) => (life.to ? "var(--dropped)" : "var(--held)"), strokeWidth: 3, dy: 6}),
        Plot.dot(lives, {x: "from", y: (life) => life.value.id, r: 5, fill: (life) => (life.to ? "var(--dropped)" : "var(--held)"), dy: 6}),
        Plot.dot(lives.filter((life) => life.to), {x: "to", y: (life) => life.value.id, symbol: "times", stroke: "var(--missed)", strokeWidth: 2.5, r: 5, dy: 6}),
      ].concat(
        ["start", "end"].map((anchor) => {
          const middle = d3.interpolateDate(domain[0], end)(0.5);
          return Plot.text(lives.filter((life) => (life.from > middle) === (anchor === "end")), {x: "from", y: (life) => life.value.id, text: "name", textAnchor: anchor, fill: "var(--ink)", dx: anchor === "start" ? -4 : 4, dy: -9});
        }),
        Plot.tip(lives, Plot.pointer(LM.tip({x: "from", y: (life) => life.value.id, title: said, maxRadius: 60}))),
      ),
    }, {
      pick: (life) => LM.go({show: life.value.id}),
      signs: (at) => lives.map((life) => ({x: at("x", life.from), y: at("y", life.value.id) + 6, text: said(life), open: () => LM.go({show: life.value.id})})),
    }),
  );
};
