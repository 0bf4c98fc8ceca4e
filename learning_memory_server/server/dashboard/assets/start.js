"use strict";
// Which view is shown, and what is searched for.

// In a chat the page is in a frame, whose address is not its own: there the view is only remembered.
LM.isFramed = window.parent !== window;
LM.chosen = null;
LM.current = () => LM.views.find((view) => (LM.isFramed ? view.name === LM.chosen : `#${view.name}` === location.hash)) ?? LM.views[0];
LM.choose = (event, view) => {
  if (!LM.isFramed) return;
  event.preventDefault();
  LM.chosen = view.name;
  LM.render();
  scrollTo(0, 0);
};

LM.render = () => {
  const current = LM.current();
  const main = document.getElementById("view");
  document.getElementById("views").replaceChildren(
    ...LM.views.map((view) => LM.make("a", {href: `#${view.name}`, "aria-current": view === current ? "page" : null, click: (event) => LM.choose(event, view)}, view.title, view.count ? LM.make("span", {class: "n"}, view.count().toLocaleString("en")) : null)),
  );
  const found = LM.words.length ? LM.make("p", {class: "soft small", role: "status"}, `${LM.found().length.toLocaleString("en")} of ${LM.count(LM.data.entries.length, "entry", "entries")} match “${LM.short(LM.words.join(" "), 60)}”.`) : null;
  main.replaceChildren(LM.make("h2", {}, current.title), LM.make("p", {class: "lead"}, current.say), ...(found ? [found] : []));
  document.title = `${current.title} · Learning memory`;
  current.draw(main);
  document.querySelector("nav [aria-current]").scrollIntoView({block: "nearest", inline: "center"});
  document.documentElement.dataset.drawn = current.name;
};

LM.describe = () => {
  const {project, made_at: made} = LM.data;
  const where = project === null ? "all projects" : LM.short(project, 60);
  const when = d3.timeFormat("%-d %b %Y, %H:%M")(new Date(made));
  document.getElementById("about").textContent = `${where} · as of ${when}`;
};

LM.search = (text) => {
  LM.words = text.toLowerCase().split(/\s+/).filter(Boolean);
  LM.render();
};

LM.start = () => {
  const box = document.getElementById("data");
  LM.read(box.textContent);
  box.remove();
  LM.describe();
  LM.render();
  let typing = 0;
  document.getElementById("search").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => LM.search(event.target.value), 120);
  });
  addEventListener("hashchange", () => {
    LM.render();
    scrollTo(0, 0);
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(input|textarea)$/i.test(event.target.tagName) && !document.getElementById("detail").open) {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });
  document.getElementById("detail").addEventListener("click", (event) => {
    if (event.target.id === "detail") event.target.close();
  });
  let resizing = 0, width = innerWidth;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      // A phone's bars change the height alone.
      if (innerWidth !== width) LM.render();
      width = innerWidth;
    }, 150);
  });
  // Charts of a wide window would be unreadably small on paper.
  const redraw = (isPrinting) => {
    document.documentElement.classList.toggle("printing", isPrinting);
    if (document.querySelector("figure.chart")) LM.render();
  };
  addEventListener("beforeprint", () => redraw(true));
  addEventListener("afterprint", () => redraw(false));
  if (LM.isFramed) LM.join();
};
LM.start();
