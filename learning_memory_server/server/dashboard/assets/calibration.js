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
// Whether agents are as sure as they may be, as the command `calibration` says it.
LM.verdict = (forecasts) => {
  const count = forecasts.length, [confidence, share] = [d3.mean(forecasts, (one) => one.confidence), d3.mean(forecasts, (one) => one.held)];
  if (!count) return "No agent has stated its confidence yet.";
  if (count < LM.few) return `Too few predictions to say (${count}; ${LM.few} are needed).`;
  const [low, high] = LM.interval(d3.sum(forecasts, (one) => one.held), count);
  const word = confidence > high ? "Overconfident" : confidence < low ? "Underconfident" : Math.abs(confidence - share) <= 0.1 ? "Well calibrated" : "Not clear yet, the difference may be chance";
  return `${word}: said ${LM.percent(confidence)} on average, ${LM.percent(share)} held (${count.toLocaleString("en")} predictions).`;
};
// The 95 % interval of a Brier score, as of a mean: 1.96 standard errors to both sides.
LM.brierInterval = (forecasts) => {
  const spread = (1.96 * (d3.deviation(forecasts, (one) => (one.confidence - one.held) ** 2) ?? 0)) / Math.sqrt(forecasts.length), score = LM.brier(forecasts);
  return [Math.max(score - spread, 0), Math.min(score + spread, 1)];
};
LM.intervalWords = ([low, high], write = LM.percent) => `95 % interval ${write(low)} to ${write(high)}`;
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
  say: "Whether predictions come true as often as your agents say they will.",
  hasEntries: true,
  things: () => LM.judged(LM.data.entries),
  empty: ["Nothing has been judged yet.", "An entry counts here once it is confirmed or falsified. See what is open:", "status"],
  draw: (view) => {
    const entries = LM.found();
    const judged = LM.judged(entries);
    if (!judged.length) return view.append(LM.nothingFound());
    const forecasts = LM.forecasts(entries);
    view.append(LM.make("p", {class: "sentence"}, LM.verdict(forecasts)));
    if (forecasts.length) view.append(LM.make("p", {class: "soft small after"}, `Of the share of predictions that held: ${LM.intervalWords(LM.interval(d3.sum(forecasts, (one) => one.held), forecasts.length))}.`));
    const fact = (name, figure, more) => LM.make("div", {}, LM.make("dt", {}, name), LM.make("dd", {}, figure, LM.make("small", {}, more)));
    const held = LM.heldOf(judged);
    view.append(
      LM.make("dl", {class: "figures"},
        fact("Hypotheses that held", LM.share(held, judged.length), `${held.toLocaleString("en")} of ${LM.count(judged.length, "judged entry", "judged entries")}; ${LM.intervalWords(LM.interval(held, judged.length))}`),
        forecasts.length ? fact("Brier score", LM.brier(forecasts).toFixed(3), `${forecasts.length > 1 ? `${LM.intervalWords(LM.brierInterval(forecasts), (one) => one.toFixed(3))}; ` : ""}0 is perfect, 0.25 is guessing`) : fact("Brier score", "none", "needs stated confidence"),
      ),
    );
    if (!forecasts.length) return;
    const card = LM.card("Confidence and outcome", "On the line, predictions come true exactly as often as stated; below it, agents are overconfident. Lines are 95 % intervals.");
    view.append(card);
    card.append(LM.reliability(forecasts, Math.min(560, Math.max(260, card.clientWidth - (LM.isNarrow() ? 28 : 40)))));
  },
});

LM.reliability = (forecasts, width) => {
  const bins = LM.bins(forecasts);
  const said = (bin) => `${LM.percent(bin.confidence)} stated, ${LM.percent(bin.share)} held\n${bin.held} of ${LM.count(bin.count, "entry", "entries")}\n95 % interval ${LM.percent(bin.low)} to ${LM.percent(bin.high)}`;
  const share = {domain: [0, 1], ticks: [0, 0.25, 0.5, 0.75, 1], tickFormat: LM.percent, grid: true};
  return LM.chart("Stated confidence and the share that held", {
    width, height: Math.min(width, 380), marginLeft: 62, marginBottom: 44, marginTop: 14, x: {...share, label: "stated", labelAnchor: "center", labelArrow: "none"}, y: {...share, label: "held", labelAnchor: "center", labelArrow: "none"}, r: {range: [2.5, 11], domain: [0, Math.max(10, d3.max(bins, (bin) => bin.count))]},
    marks: [
      Plot.link([0], {x1: 0, y1: 0, x2: 1, y2: 1, stroke: "var(--soft)", strokeDasharray: "4 4"}),
      Plot.ruleX(bins, {x: "confidence", y1: "low", y2: "high", stroke: "var(--held)", strokeOpacity: 0.45, strokeWidth: 2}),
      Plot.dot(bins, {x: "confidence", y: "share", r: "count", fill: "var(--held)", stroke: "var(--card)"}),
      Plot.tip(bins, Plot.pointer(LM.tip({x: "confidence", y: "share", title: said}))),
    ],
  }, (at) => bins.map((bin) => ({x: at("x", bin.confidence), y: at("y", bin.share), text: said(bin)})));
};
