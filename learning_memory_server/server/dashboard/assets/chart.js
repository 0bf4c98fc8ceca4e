"use strict";
// Charts: Plot's, with the page's type and colours, and a name for screen readers.

// `signs` returns what the keyboard walks through.
LM.chart = (label, options, signs) => {
  const plot = Plot.plot({className: "plot", style: {background: "none", color: "var(--ink)"}, ...options});
  // Drawn larger than it was made, its words would be too large.
  const area = LM.make("div", {class: "area", style: {maxWidth: `${options.width}px`}}, plot);
  const figure = LM.make("figure", {class: "chart"}, area);
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", label);
  // What has no role may have no label; a tip is made anew wherever the mouse goes.
  const unlabel = () => plot.querySelectorAll("g[aria-label]").forEach((mark) => {
    mark.dataset.mark = mark.getAttribute("aria-label");
    mark.removeAttribute("aria-label");
  });
  unlabel();
  plot.addEventListener("input", unlabel);
  LM.walk(area, plot, () => signs((name, value) => plot.scale(name).apply(value)));
  return figure;
};
LM.isNarrow = () => innerWidth <= 620;
LM.tip = (options) => ({fill: "var(--card)", stroke: "var(--line)", fontSize: 12.5, lineHeight: 1.35, lineWidth: LM.isNarrow() ? 20 : 30, textPadding: 10, pointerSize: 8, textOverflow: null, ...options});
