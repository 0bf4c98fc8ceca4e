"use strict";
// What is shown, and what happens when something is typed, chosen, resized or printed.

// A view of nothing has no tab, and the overview gives way to what was found.
LM.isEmpty = (view) => Boolean(view.things && !view.things().length);
LM.isHidden = (view) => LM.isEmpty(view) || Boolean(view.isHidden?.());
LM.render = () => {
  const current = LM.views.find((view) => view.name === LM.at.view);
  const main = document.getElementById("view");
  document.getElementById("views").replaceChildren(
    ...LM.views.filter((view) => !LM.isHidden(view) || view === current).map((view) =>
      LM.anchor({view: view.name, show: ""}, {"data-view": view.name, "aria-current": view === current ? "page" : null}, view.title, view.count ? LM.make("span", {class: "n"}, view.count().toLocaleString("en")) : null)),
  );
  main.replaceChildren(...LM.kept(LM.make("h2", {}, current.title), LM.make("p", {class: "lead"}, current.say), LM.chips(current.hasEntries)));
  document.title = `${current.title} · Learning memory`;
  const search = document.getElementById("search"), picker = document.getElementById("project");
  if (document.activeElement !== search) search.value = LM.at.q ?? "";
  if (picker) picker.value = LM.at.project ?? "";
  if (LM.isEmpty(current)) main.append(LM.nothing(...current.empty));
  else current.draw(main);
  document.querySelector("nav [aria-current]").scrollIntoView({block: "nearest", inline: "center"});
  document.documentElement.dataset.drawn = current.name;
};

LM.describe = () => {
  const {project, made_at: made} = LM.data;
  const when = `as of ${d3.timeFormat("%-d %b %Y, %H:%M")(new Date(made))}`;
  const about = document.getElementById("about");
  // A page of one project has nothing to choose from.
  if (project !== null || LM.projects.length < 2) return void (about.textContent = [project ?? LM.projects[0] ?? "all projects", when].map((part) => LM.short(part, 60)).join(" · "));
  const picker = LM.make("select", {id: "project", "aria-label": "Project", change: (event) => LM.go({project: event.target.value})},
    LM.make("option", {value: ""}, "all projects"), LM.projects.map((name) => LM.make("option", {value: name}, LM.short(name, 60))));
  about.replaceChildren(picker, ` ${when}`);
};

// Typing filters the view; on the overview, which has nothing to filter, it shows the hits.
LM.search = (text) => LM.go({q: text.trim(), ...(LM.at.view === "overview" && text.trim() && {view: "search"}), ...(LM.at.view === "search" && !text.trim() && {view: "overview"})}, false);

LM.start = () => {
  const box = document.getElementById("data");
  LM.read(box.textContent);
  box.remove();
  LM.describe();
  LM.route();
  let typing = 0;
  const search = document.getElementById("search");
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => LM.search(search.value), 120);
  });
  search.addEventListener("keydown", (event) => { if (event.key === "Enter" && LM.words.length) LM.go({view: "search"}); });
  addEventListener("hashchange", () => {
    const view = LM.at.view;
    LM.route();
    if (LM.at.view !== view) scrollTo(0, 0);
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(input|textarea)$/i.test(event.target.tagName) && !document.getElementById("detail").open) {
      event.preventDefault();
      document.getElementById("search").focus();
    }
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("view").focus();
  });
  const dialog = document.getElementById("detail");
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => { if (LM.at.show) LM.go({show: ""}); });
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
  document.getElementById("view").after(LM.tray(false));
  if (LM.isFramed) LM.join();
};
LM.start();
