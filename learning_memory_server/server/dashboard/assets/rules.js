"use strict";
// The rules that a person has said yes to, with how they fared, and what past sessions say.

// A rule for all projects is in each of them.
LM.rulesHere = () => LM.data.rules.filter((rule) => (rule.is_everywhere || LM.isOfProject(rule)) && LM.hasWords(rule));

LM.views.push({
  name: "rules",
  title: "Rules",
  say: "Sentences that you have said yes to. An agent whose call breaks one is shown it before the call runs.",
  things: () => [...LM.data.rules, ...LM.data.past],
  empty: ["There is no rule yet.", "To see which rules agents broke in past sessions, and to have them reminded, run in a project's folder:", "report"],
  count: () => LM.rulesHere().length,
  draw: (view) => {
    const rules = LM.rulesHere(), past = LM.select(LM.data.past);
    if (!rules.length && !past.length) return view.append(LM.nothingFound());
    const offered = (each) => LM.data.waiting.find((one) => one.id === each.suggestion);
    view.append(...LM.kept(
      rules.length ? LM.card(null, `${LM.count(rules.length, "rule")}, the most broken first.`, LM.list(rules, LM.ruleRow)) : null,
      past.length ? LM.card("Past sessions", "What agents broke, and what failed again and again, before you said anything. A yes has agents reminded.",
        LM.list(past, (each) => LM.fact(LM.line(`${each.label}: ${each.text}`, 300), null, offered(each) && LM.choices(offered(each), each.text, "yes", "no", "later")))) : null));
  },
});
LM.ruleRow = (rule) => LM.make("li", {"data-rule": rule.id},
  LM.line(rule.text, 200),
  LM.make("div", {class: "facts"}, LM.make("span", {}, rule.since), rule.before ? LM.make("span", {}, `before: ${rule.before}`) : null, LM.make("span", {}, `since ${LM.date(rule.at)}`)),
  LM.make("div", {class: "soft small"}, LM.line(`${rule.when}, ${rule.where}${rule.is_enforced ? "; you are asked each time" : ""}; from ${rule.whose}`, 300)),
  LM.act("rule", "show", rule.short_id));
