"use strict";
// Decisions. A page without a server cannot act, so decisions are chosen here, and one command for a terminal has them all;
// the terminal shows what they will do, and asks once.

LM.verbs = {
  yes: {name: "Yes", done: "yes", word: "yes"},
  no: {name: "No", done: "no", word: "no"},
  later: {name: "Later", done: "later", word: "later"},
  never: {name: "Stop telling it", done: "not told any more", word: "no"},
  retire: {name: "Retire", done: "retired", word: "no"},
  again: {name: "Tell it again", done: "told again", word: "undo"},
  share: {name: "Share", done: "shared"},
  forget: {name: "Forget", done: "forgotten"},
  close: {name: "Close as abandoned", done: "closed"},
  rule: {name: "Make it a rule", done: "made a rule"},
};
// By the id of what it is about: {verb, project, ids}. It is kept until the page is closed.
LM.chosen = new Map();

LM.decide = (id, project, verb) => {
  if (LM.chosen.get(id)?.verb === verb) LM.chosen.delete(id);
  else LM.chosen.set(id, {verb, project});
  LM.showChosen();
};
// What can be decided of one thing: buttons, of which one at most is pressed.
LM.choices = (thing, about, ...verbs) =>
  LM.make("div", {class: "choices", role: "group", "aria-label": `Decide: ${LM.short(about, 60)}`}, verbs.map((verb) =>
    LM.make("button", {type: "button", "data-decide": thing.id, "data-verb": verb, "aria-pressed": String(LM.chosen.get(thing.id)?.verb === verb), click: () => LM.decide(thing.id, thing.project, verb)}, LM.verbs[verb].name)));
// What can be decided of a lesson or a value that agents are told.
LM.choicesOf = (thing, about, ...more) => LM.choices(thing, about, LM.stop(thing), ...more, "forget");

// The beginning of an id that the program takes for the whole one.
LM.idInCommand = (id) => (id.startsWith("suggestion_") ? id.slice(0, 23) : id);
// The commands of some decisions, each as its words: one for all answers, others only for what is not an answer.
LM.commandsOf = (decisions) => {
  const having = (verb) => decisions.filter((each) => each.verb === verb).map((each) => LM.idInCommand(each.id));
  const answers = ["yes", "no", "later", "undo"].flatMap((word) => {
    const ids = decisions.filter((each) => LM.verbs[each.verb].word === word).map((each) => LM.idInCommand(each.id));
    return ids.length ? [word, ...ids] : [];
  });
  const several = (verb) => (having(verb).length ? [[verb, ...having(verb)]] : []);
  return [
    ...(answers.length ? [["review", ...answers]] : []), ...several("share"), ...several("forget"),
    ...having("close").map((id) => ["resolve", id, "abandoned"]), ...having("rule").map((id) => ["rule", "add", id]),
  ];
};

// The bar with the commands, at the end of the page and in the open panel.
LM.showChosen = () => {
  document.querySelectorAll("[data-decide]").forEach((button) => button.setAttribute("aria-pressed", String(LM.chosen.get(button.dataset.decide)?.verb === button.dataset.verb)));
  document.querySelectorAll(".tray").forEach((tray) => {
    tray.hidden = !LM.chosen.size;
    tray.replaceChildren(...LM.trayParts());
  });
};
LM.trayParts = () => {
  const decisions = [...LM.chosen].map(([id, each]) => ({id, ...each}));
  if (!decisions.length) return [];
  const counts = d3.rollups(decisions, (some) => some.length, (each) => LM.verbs[each.verb].done).map(([done, count]) => `${count.toLocaleString("en")} ${done}`);
  const byProject = d3.groups(decisions, (each) => each.project);
  return [
    LM.make("div", {class: "facts"},
      LM.make("strong", {role: "status"}, `${LM.count(decisions.length, "decision")}: ${counts.join(", ")}`),
      LM.make("span", {}, "Nothing has happened yet. Run this in a terminal, which shows what it will do and asks you."),
      LM.make("button", {type: "button", class: "clear", click: () => { LM.chosen.clear(); LM.showChosen(); }}, "Clear")),
    ...byProject.map(([project, some]) => LM.make("div", {},
      LM.make("div", {class: "soft small"}, "In the folder of ", LM.line(project, 80)), LM.commandsOf(some).map((words) => LM.act(...words)))),
  ];
};
// A page has one landmark of a name.
LM.tray = (isInPanel) => LM.make(isInPanel ? "div" : "aside", {class: "tray", role: isInPanel ? "group" : null, "aria-label": "Decisions", hidden: true});

// A sentence that a command may quote in any shell: without the signs that one of them reads.
LM.plainSentence = (text) => LM.short(text, 200).replaceAll("'", "’").replace(/[^\p{L}\p{N} ,.:;()?/_+=@’–—-]/gu, "").replace(/^[^\p{L}\p{N}]+/u, "").trim();
// Making a rule in one's own words of what a lesson, a cluster or a value says. A value that is reworded is retired.
LM.ruleMaker = (title, text, project, retired = null) => {
  const box = LM.make("textarea", {rows: "2", maxlength: "200", "aria-label": "The rule, in your words"});
  box.value = LM.plainSentence(text);
  const add = () => {
    const sentence = LM.plainSentence(box.value);
    if (!sentence) return box.focus();
    LM.chosen.set(sentence, {verb: "rule", project});
    if (retired) LM.chosen.set(retired, {verb: "retire", project});
    LM.showChosen();
  };
  return LM.make("details", {class: "maker"}, LM.make("summary", {}, title), box, LM.make("button", {type: "button", click: add}, "Add to the decisions"));
};
