"use strict";
// Calibration: whether predictions come true as often as stated.

LM.judged = (entries) => entries.filter((entry) => entry.outcome_status !== "abandoned");
LM.heldOf = (entries) => entries.filter((entry) => entry.outcome_status === "confirmed").length;
// The last confidence that was stated, for whichever prediction that was.
LM.stated = (entry) => [...(entry.history ?? []).map((past) => past.confidence), entry.confidence].filter((one) => one !== undefined).at(-1);
LM.forecasts = (entries) =>
  LM.judged(entries).flatMap((entry) => {
    const confidence = LM.stated(entry);
    return confidence === undefined ? [] : [{at: entry.at, confidence, held: entry.outcome_status === "confirmed" ? 1 : 0}];
  });
LM.brier = (forecasts) => d3.mean(forecasts, (one) => (one.confidence - one.held) ** 2);
LM.sureness = (forecasts) => {
  const [said, held] = [d3.mean(forecasts, (one) => one.confidence), d3.mean(forecasts, (one) => one.held)].map((share) => Math.round(100 * share));
  const judgement = said === held ? "just right" : `${LM.count(Math.abs(said - held), "point")} too ${said > held ? "sure" : "unsure"}`;
  const few = forecasts.length < LM.few ? ` Based on ${LM.count(forecasts.length, "entry", "entries")}: too few to rely on.` : "";
  return `Agents stated ${said} % and ${held} % held: ${judgement}.${few}`;
};
// Ten bins of equal width, as the command `calibration` has them.
LM.bins = (forecasts) =>
  d3.rollups(forecasts, (group) => {
    const held = d3.sum(group, (one) => one.held);
    const [low, high] = LM.interval(held, group.length);
    return {confidence: d3.mean(group, (one) => one.confidence), share: held / group.length, held, count: group.length, low, high};
  }, (one) => Math.min(Math.floor(one.confidence * 10), 9)).sort((a, b) => a[0] - b[0]).map(([, bin]) => bin);

LM.views.push({
  name: "calibration",
  title: "Calibration",
  say: "Whether predictions come true as often as your agents say they will, and whether that improves.",
  hasEntries: true,
  things: () => LM.judged(LM.data.entries),
  empty: ["Nothing has been judged yet.", "An entry counts here once it is confirmed or falsified. See what is open:", "status"],
  draw: (view) => {
    const entries = LM.found();
    const judged = LM.judged(entries);
    if (!judged.length) return view.append(LM.nothingFound());
    const forecasts = LM.forecasts(entries);
    view.append(LM.make("p", {class: "sentence"}, forecasts.length ? LM.sureness(forecasts) : "No entry states how sure its agent was, so nothing can be said of that."));
    const fact = (name, figure, more) => LM.make("div", {}, LM.make("dt", {}, name), LM.make("dd", {}, figure, LM.make("small", {}, more)));
    view.append(
      LM.make("dl", {class: "figures"},
        fact("Hypotheses that held", LM.share(LM.heldOf(judged), judged.length), judged.length < LM.few ? "too few to rely on" : `${LM.heldOf(judged).toLocaleString("en")} of ${LM.count(judged.length, "judged entry", "judged entries")}`),
        forecasts.length ? fact("Stated confidence", LM.percent(d3.mean(forecasts, (one) => one.confidence)), forecasts.length < LM.few ? `from ${LM.count(forecasts.length, "entry", "entries")}, too few to rely on` : `${LM.percent(d3.mean(forecasts, (one) => one.held))} held`) : fact("Stated confidence", "none", "no agent has stated one"),
        forecasts.length ? fact("Brier score", LM.brier(forecasts).toFixed(3), forecasts.length < LM.few ? "too few to rely on" : "0 is perfect, 0.25 is guessing") : fact("Brier score", "none", "needs stated confidence"),
      ),
    );
    if (forecasts.length) {
      const columns = LM.make("div", {class: "columns"});
      view.append(columns);
      const cards = [LM.card("Confidence and outcome", "On the line, predictions come true exactly as often as stated; below it, agents are overconfident. Lines are 95 % intervals."), LM.card("Brier score over time", "The mean squared error of the stated confidence: lower is better. The broken line is what always saying 50 % would get.")];
      columns.append(...cards);
      const width = Math.max(260, cards[0].clientWidth - (LM.isNarrow() ? 28 : 40));
      cards[0].append(LM.reliability(forecasts, width));
      cards[1].append(LM.overTime(forecasts, width));
    }
    const columns = LM.make("div", {class: "columns"});
    view.append(columns);
    const cards = [LM.card("By domain", "The share that held, with its 95 % interval: the longer the line, the less is known."), LM.card("By strategy", "The share that held for each way of working.")];
    columns.append(...cards);
    const width = Math.max(260, cards[0].clientWidth - (LM.isNarrow() ? 28 : 40));
    cards[0].append(...LM.rates(judged, "domain", width));
    cards[1].append(...LM.rates(judged, "strategy", width));
  },
});

// The fewest entries for which an interval is drawn: that of three would be the longest line of all.
LM.least = 4;
LM.reliability = (forecasts, width) => {
  const bins = LM.bins(forecasts);
  const said = (bin) => `${LM.percent(bin.confidence)} stated, ${LM.percent(bin.share)} held\n${bin.held} of ${LM.count(bin.count, "entry", "entries")}\n95 % interval ${LM.percent(bin.low)} to ${LM.percent(bin.high)}`;
  const share = {domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], tickFormat: LM.percent, grid: true};
  return LM.chart("Stated confidence and the share that held", {
    width, height: Math.min(width, 380), marginLeft: 46, marginBottom: 38, x: {...share, label: "stated", labelArrow: "none"}, y: {...share, label: "held", labelArrow: "none"}, r: {range: [2.5, 11], domain: [0, Math.max(10, d3.max(bins, (bin) => bin.count))]},
    marks: [
      Plot.link([0], {x1: 0, y1: 0, x2: 1, y2: 1, stroke: "var(--soft)", strokeDasharray: "4 4"}),
      Plot.ruleX(bins.filter((bin) => bin.count >= LM.least), {x: "confidence", y1: "low", y2: "high", stroke: "var(--held)", strokeOpacity: 0.45, strokeWidth: 2}),
      Plot.dot(bins, {x: "confidence", y: "share", r: "count", fill: "var(--held)", stroke: "var(--card)"}),
      Plot.tip(bins, Plot.pointer(LM.tip({x: "confidence", y: "share", title: said}))),
    ],
  }, {signs: (at) => bins.map((bin) => ({x: at("x", bin.confidence), y: at("y", bin.share), text: said(bin)}))});
};

LM.overTime = (forecasts, width) => {
  const [from, to] = d3.extent(forecasts, (one) => one.at);
  const days = (to - from) / 864e5;
  const unit = days > 240 ? d3.utcMonth : days > 40 ? d3.utcMonday : d3.utcDay;
  const periods = d3.rollups(forecasts, (group) => ({brier: LM.brier(group), count: group.length}), (one) => +unit.floor(one.at)).map(([at, score]) => ({at: new Date(at), ...score})).sort((a, b) => a.at - b.at);
  const said = (period) => `from ${LM.day(period.at)}\nBrier score ${period.brier.toFixed(3)} of ${LM.count(period.count, "entry", "entries")}`;
  return LM.chart("Brier score over time", {
    width, height: Math.min(width, 380), marginLeft: 40, marginRight: 16, marginBottom: 38, x: {type: "utc", label: null, ...(days < 9 && {ticks: "day"}), domain: [unit.offset(unit.floor(from), -1), unit.offset(unit.floor(to), 1)]}, y: {domain: [0, Math.max(0.3, d3.max(periods, (period) => period.brier) * 1.08)], ticks: 5, tickFormat: d3.format(".2f"), grid: true, label: null}, r: {range: [2, 8], domain: [0, Math.max(10, d3.max(periods, (period) => period.count))]},
    marks: [
      Plot.ruleY([0.25], {stroke: "var(--soft)", strokeDasharray: "4 4"}),
      Plot.line(periods, {x: "at", y: "brier", stroke: "var(--held)", strokeWidth: 2}),
      Plot.dot(periods, {x: "at", y: "brier", r: "count", fill: "var(--held)", stroke: "var(--card)"}),
      Plot.tip(periods, Plot.pointer(LM.tip({x: "at", y: "brier", title: said}))),
    ],
  }, {signs: (at) => periods.map((period) => ({x: at("x", period.at), y: at("y", period.brier), text: said(period)}))});
};

LM.rates = (judged, field, width) => {
  const all = d3.rollups(judged, (group) => {
    const held = LM.heldOf(group);
    const [low, high] = LM.interval(held, group.length);
    return {held, total: group.length, share: held / group.length, low, high};
  }, (entry) => entry[field]).map(([name, rate]) => ({name, ...rate})).sort((a, b) => b.total - a.total);
  const rates = all.filter((rate) => rate.total >= LM.least), rest = all.filter((rate) => rate.total < LM.least);
  const few = rest.length ? LM.make("p", {class: "soft small"}, `Too few to draw: ${rest.map((rate) => `${rate.name} ${rate.held} of ${rate.total}`).join(", ")}.`) : null;
  if (!rates.length) return [few];
  const said = (rate) => `${rate.name}: ${rate.held} of ${rate.total} held (${LM.percent(rate.share)})\n95 % interval ${LM.percent(rate.low)} to ${LM.percent(rate.high)}`;
  const chart = LM.chart(`Share that held by ${field}`, {
    width, height: rates.length * 30 + 40, marginLeft: 142, marginRight: 44, x: {domain: [0, 1], ticks: [0, 0.5, 1], tickFormat: LM.percent, grid: true, label: null}, y: {domain: rates.map((rate) => rate.name), label: null, tickSize: 0},
    marks: [
      Plot.ruleY(rates, {y: "name", x1: "low", x2: "high", stroke: "var(--held)", strokeOpacity: 0.45, strokeWidth: 3, strokeLinecap: "round"}),
      Plot.dot(rates, {y: "name", x: "share", r: 4.5, fill: "var(--held)", stroke: "var(--card)"}),
      Plot.text(rates, {y: "name", x: 1, text: (rate) => rate.total.toLocaleString("en"), textAnchor: "end", dx: 40, fill: "var(--soft)"}),
      Plot.tip(rates, Plot.pointerY(LM.tip({y: "name", x: "share", title: said}))),
    ],
  }, {signs: (at) => rates.map((rate) => ({x: at("x", rate.share), y: at("y", rate.name), text: said(rate)}))});
  return LM.kept(chart, few);
};
