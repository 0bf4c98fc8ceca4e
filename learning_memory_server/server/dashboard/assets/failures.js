"use strict";
// Command errors, one row each: how often, and what worked.

LM.views.push({
  name: "failures",
  title: "Failures",
  say: "Command errors, latest first, with the remedy that agents are told if one comes back.",
  count: () => LM.select(LM.data.errors).length,
  draw: (view) => {
    const errors = LM.select(LM.data.errors);
    if (!LM.data.errors.length) {
      view.append(LM.nothing("No failed command is known yet.", "Your client's hooks report new ones. To find those of past Claude Code sessions, run in a project's folder:", "learn-from"));
      return;
    }
    if (!errors.length) return view.append(LM.nothingFound());
    const failed = d3.sum(errors, (error) => error.failures.length);
    const mended = errors.filter((error) => error.remedy).length;
    view.append(LM.make("section", {class: "card"},
      LM.make("p", {class: "say"}, `${LM.count(errors.length, "error")} in ${LM.count(failed, "failed command")}; the fix is known for ${mended.toLocaleString("en")}.`),
      LM.list(errors, (error) => LM.make("li", {"data-error": error.id},
        LM.make("div", {class: "facts"}, LM.remedyBadge(error), LM.make("span", {}, `seen ${LM.count(error.times, "time")}`), LM.make("span", {}, `last on ${LM.date(error.last_seen)}`), LM.projects.length > 1 ? LM.line(error.project, 60) : null),
        LM.make("div", {}, LM.thing(error.id, LM.short(error.signature, 240))),
        LM.make("code", {class: "text soft", dir: "auto"}, LM.short(error.command, 240)),
        error.remedy ? LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, "Remedy: "), LM.make("code", {class: "text", dir: "auto"}, LM.plain(error.remedy))) : LM.followed(error),
      ))));
  },
});
// What a person may judge, where no rule says what to tell an agent.
LM.followed = (error) => (error.followed ? LM.make("div", {class: "items soft small"}, `So far, ${LM.plain(error.followed)}.`) : null);
LM.remedyBadge = (error) => (error.remedy ? LM.badge("supported", "remedy known") : LM.badge("unattested", error.followed ? "agents are told nothing" : "no remedy"));

LM.errorParts = (error) => [
  LM.make("div", {class: "facts"}, LM.remedyBadge(error), LM.make("span", {}, `seen ${LM.count(error.times, "time")}`), LM.make("span", {}, `last on ${LM.date(error.last_seen)}`), LM.line(error.project, 60)),
  LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(error.signature)),
  error.remedy ? [LM.make("h3", {}, "Remedy, told if the error comes back"), LM.make("code", {class: "text", dir: "auto"}, LM.plain(error.remedy))] : LM.followed(error),
  LM.act("show", error.id), LM.act("forget", error.id),
  LM.make("h3", {}, "Commands that failed with this error"),
  LM.list(error.failures, (failure) => LM.make("li", {},
    LM.make("div", {class: "facts"}, LM.make("span", {}, LM.date(failure.at)), failure.worked ? LM.badge("supported", "fixed") : LM.badge("unattested", "not fixed")),
    LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.command)),
    failure.worked && failure.worked !== failure.command ? LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, "Then this worked: "), LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.worked))) : null,
    failure.shown ? LM.reminder(failure) : null)),
];
// What was shown when a command failed: the fix of the same error after a similar command.
LM.reminder = (failure) => {
  const before = LM.mending.get(failure.shown);
  const support = typeof failure.support !== "number" ? "" : ` (${LM.percent(failure.support)} of what is known about this error supported it)`;
  return LM.make("div", {class: "items"},
    LM.make("span", {class: "soft small"}, `Shown because it fixed the same error${before ? "" : " before"}${support}: `),
    before?.remedy ? LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.remedy)) : LM.make("span", {class: "soft small"}, before ? "no longer shown" : "forgotten since"),
    before ? LM.make("div", {class: "soft small"}, "instead of ", LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.command))) : null,
    failure.worked ? null : LM.make("div", {class: "soft small"}, "Nothing fixed it this time."),
  );
};
