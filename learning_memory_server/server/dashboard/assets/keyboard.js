"use strict";
// The keyboard in charts. Each chart is one tab stop, however many signs it has: a button that lies on one of them, with
// its text as its name. The mouse goes through it.

// Directions as [right, down]; the page keys follow the order of the signs, so that each of them can be reached.
LM.arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
LM.steps = {PageUp: (at) => at - 1, PageDown: (at) => at + 1, Home: () => 0, End: (_, count) => count - 1};

// Adds the button to a chart. Signs are functions' results, because most charts are never walked through:
// [{x, y, text}], with x and y in the chart's units, in an order that makes sense.
LM.walk = (area, plot, find) => {
  const {width, height} = plot.viewBox.baseVal;
  let signs = null, at = 0;
  const tip = LM.make("div", {class: "cursor-tip text", "aria-hidden": "true", hidden: true});
  const place = (wantsFocus) => {
    const sign = signs[at];
    const [left, top] = [(100 * sign.x) / width, (100 * sign.y) / height];
    // A new button each time: screen readers announce what gets the focus, not a name that changes.
    const cursor = LM.make("button", {type: "button", class: "cursor", "aria-label": sign.text, style: {left: `${left}%`, top: `${top}%`}, keydown: press, focus: show, blur: hide});
    area.querySelector(".cursor")?.remove();
    area.append(cursor);
    if (wantsFocus) cursor.focus();
  };
  const show = () => {
    const sign = signs[at];
    const [left, top] = [(100 * sign.x) / width, (100 * sign.y) / height];
    tip.textContent = sign.text;
    // As far to the left of the sign as the sign is from the left: it never reaches beyond the chart.
    Object.assign(tip.style, {left: `${left}%`, transform: `translateX(-${left}%)`}, top > 50 ? {top: "auto", bottom: `${100 - top}%`} : {top: `${top}%`, bottom: "auto"});
    // The mouse has the chart's own.
    tip.hidden = !area.querySelector(".cursor:focus-visible");
  };
  const hide = () => { tip.hidden = true; };
  const press = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") hide();
    const step = LM.steps[event.key];
    const next = step ? step(at, signs.length) : event.key in LM.arrows ? LM.nearest(signs, at, ...LM.arrows[event.key]) : null;
    if (next === null) return;
    event.preventDefault();
    if (next === at || next < 0 || next >= signs.length) return;
    at = next;
    place(true);
  };
  // What is looked up only when it gets the focus must have it first.
  const first = LM.make("button", {type: "button", class: "cursor", "aria-label": "Walk through the chart", focus: () => {
    signs = find();
    area.after(LM.make("figcaption", {class: "keys"}, "Arrow keys go to the nearest sign, Page Up and Page Down to the one before and after."));
    if (signs.length) place(true);
    else first.remove();
  }});
  area.append(tip, first);
};

// The next sign in a direction: near, and straight ahead rather than aside.
LM.nearest = (signs, at, right, down) => {
  const from = signs[at];
  let best = null, least = Infinity;
  signs.forEach((sign, number) => {
    const ahead = (sign.x - from.x) * right + (sign.y - from.y) * down;
    const aside = Math.abs((sign.x - from.x) * down) + Math.abs((sign.y - from.y) * right);
    if (ahead <= 0 || ahead + 2 * aside >= least) return;
    [best, least] = [number, ahead + 2 * aside];
  });
  return best;
};
