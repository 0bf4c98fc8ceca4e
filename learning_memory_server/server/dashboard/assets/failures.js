"use strict";
// Errors of commands, one row each: how often, what worked, and the episodes in which edits mended it.

LM.views.push({
  name: "failures",
  title: "Failures",
  say: "Errors of commands, the last seen first, with what agents are told if they come again: the remedy, or what was edited until the error was gone.",
  count: () => LM.select(LM.data.errors).length,
  draw: (view) => {
    const errors = LM.select(LM.data.errors);
    if (!LM.data.errors.length) {
      view.append(LM.nothing("No command has failed yet, as far as is known.", "Hooks of your client tell of those to come. Those of past sessions of Claude Code are found in a project's folder by:", "learn-from"));
      return;
    }
    if (!errors.length) return view.append(LM.nothingFound());
    const failed = d3.sum(errors, (error) => error.failures.length);
    const mended = errors.filter((error) => error.remedy || LM.episodes(error).length).length;
    view.append(LM.make("section", {class: "card"},
      LM.make("p", {class: "say"}, `${LM.count(errors.length, "error")} of ${LM.count(failed, "command")}; for ${mended.toLocaleString("en")} it is known what mended it.`),
      LM.list(errors, (error) => LM.make("li", {"data-error": error.id},
        LM.make("div", {class: "facts"}, LM.remedyBadge(error), LM.make("span", {}, `seen ${LM.count(error.times, "time")}`), LM.make("span", {}, `last on ${LM.date(error.last_seen)}`), LM.projects.length > 1 ? LM.line(error.project, 60) : null),
        LM.make("div", {}, LM.thing(error.id, LM.short(error.signature, 240))),
        LM.make("code", {class: "text soft", dir: "auto"}, LM.short(error.command, 240)),
        error.remedy ? LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, "Remedy: "), LM.make("code", {class: "text", dir: "auto"}, LM.plain(error.remedy))) : null,
        LM.episodes(error).slice(0, 1).map((failure) => LM.episode(failure)),
      ))));
  },
});
LM.episodes = (error) => error.failures.filter((failure) => failure.edits);
LM.remedyBadge = (error) => (error.remedy ? LM.badge("supported", "remedy known") : LM.episodes(error).length ? LM.badge("supported", "mended by an edit") : LM.badge("unattested", "no remedy"));
LM.episode = (failure) => LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, `Episode of ${LM.date(failure.at)}: gone after these changed: `), LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.edits.join("\n"))));

LM.errorParts = (error) => [
  LM.make("div", {class: "facts"}, LM.remedyBadge(error), LM.make("span", {}, `seen ${LM.count(error.times, "time")}`), LM.make("span", {}, `last on ${LM.date(error.last_seen)}`), LM.line(error.project, 60)),
  LM.make("h2", {class: "text short", dir: "auto"}, LM.plain(error.signature)),
  error.remedy ? [LM.make("h3", {}, "Remedy: told if it comes again"), LM.make("code", {class: "text", dir: "auto"}, LM.plain(error.remedy))] : null,
  LM.act("show", error.id), LM.act("forget", error.id),
  LM.make("h3", {}, "Commands that failed with it"),
  LM.list(error.failures, (failure) => LM.make("li", {},
    LM.make("div", {class: "facts"}, LM.make("span", {}, LM.date(failure.at)), failure.worked ? LM.badge("supported", "mended") : failure.edits ? LM.badge("supported", "mended by an edit") : LM.badge("unattested", "not mended")),
    LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.command)),
    failure.worked && failure.worked !== failure.command ? LM.make("div", {class: "items"}, LM.make("span", {class: "soft small"}, "Then this worked: "), LM.make("code", {class: "text", dir: "auto"}, LM.plain(failure.worked))) : null,
    failure.edits ? LM.episode(failure) : null,
    failure.shown ? LM.reminder(failure) : null)),
];
// What was shown when a command failed: what mended the same error before, after a similar command.
LM.reminder = (failure) => {
  const before = LM.mending.get(failure.shown);
  const support = typeof failure.support !== "number" ? "" : ` (${LM.percent(failure.support)} of what is known of this error spoke for it)`;
  return LM.make("div", {class: "items"},
    LM.make("span", {class: "soft small"}, `Shown, because it mended the same error${before ? "" : " before"}${support}: `),
    before?.remedy ? LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.remedy)) : LM.make("span", {class: "soft small"}, before ? "no longer shown" : "it is forgotten"),
    before ? LM.make("div", {class: "soft small"}, "instead of ", LM.make("code", {class: "text", dir: "auto"}, LM.plain(before.command))) : null,
    failure.worked || failure.edits ? null : LM.make("div", {class: "soft small"}, "Nothing mended it this time."),
  );
};
