"use strict";
// Zooming and panning. While the map moves, the drawing is only transformed; at rest it is redrawn for what is visible, so
// that signs keep their size and more labels fit.

LM.zoomable = (width, height, draw) => {
  const area = LM.make("div", {class: "zoomed"});
  let drawn = d3.zoomIdentity, at = drawn, timer = 0;
  const redraw = () => {
    drawn = at;
    area.replaceChildren(draw(at));
    area.classList.toggle("is-near", at.k > 1);
    out.disabled = whole.disabled = at.k === 1;
  };
  const follow = ({transform}) => {
    at = transform;
    const scale = at.k / drawn.k;
    Object.assign(area.firstChild.style, {transformOrigin: "0 0", transform: `translate(${at.x - drawn.x * scale}px, ${at.y - drawn.y * scale}px) scale(${scale})`});
    clearTimeout(timer);
    timer = setTimeout(redraw, 120);
  };
  const zoom = d3.zoom()
    .scaleExtent([1, 60])
    .extent([[0, 0], [width, height]])
    .translateExtent([[0, 0], [width, height]])
    // Without a key, the wheel scrolls the page, and so does a finger until something was zoomed in on.
    .filter((event) => (event.type === "wheel" ? event.ctrlKey || event.metaKey : event.type.startsWith("touch") ? at.k > 1 || event.touches.length > 1 : event.type !== "dblclick" && !event.button))
    .on("zoom", follow);
  const box = d3.select(area).call(zoom);
  const button = (sign, name, press) => LM.make("button", {type: "button", "aria-label": name, title: name, click: press}, sign);
  const nearer = button("+", "Zoom in", () => box.call(zoom.scaleBy, 2));
  const out = button("−", "Zoom out", () => box.call(zoom.scaleBy, 0.5));
  const whole = button("Whole map", "Show the whole map", () => box.call(zoom.transform, d3.zoomIdentity));
  area.addEventListener("keydown", (event) => {
    const press = {"+": nearer, "-": out, 0: whole}[event.key];
    if (press && !event.ctrlKey && !event.metaKey) press.click();
  });
  redraw();
  return LM.make("div", {}, area, LM.make("div", {class: "zoom small soft"}, nearer, out, whole, LM.make("span", {class: "by-mouse"}, "Zoom with Ctrl and the wheel, drag to move.")));
};
