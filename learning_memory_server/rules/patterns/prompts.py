"""Words in prompts that ask for something or say yes."""

from typing import Final

DOING: Final = frozenset(
    """
    add amend cherry-pick clone commit committe committen deploy fetch force land merge pr prs mr publish pull push pushe
    pushen rebase release revert ship stage stash squash sync tag
    """.split()
)
"""Verbs for an agent's acts. Each is also a noun."""

NOUNS: Final = frozenset({"pr", "prs", "mr"} | {"live", "hook", "hooks"})
"""Other words for an act or its object: a request has another verb."""

MADE_WITH: Final = (
    r"(?:make|create|do|open|submit|raise|send|file|prepare|draft|put up|cut|give me|run|perform|execute|start|use|go|"
    r"mach|erstell|öffne)e?"
)
"""Verbs whose object is the requested act: "make a commit"."""

BETWEEN: Final = (
    r"(?:a|an|the|one|two|another|new|separate|small|smaller|single|draft|quick|first|initial|final|git|some|atomic|"
    r"individual|ein|einen|den)"
)
"""Words between such a verb and its object."""

_OBJECTS: Final = r"(?:it|this|that|these|them|everything|all|both|das|es|alles|the (?:changes|code|branch|work|fix))"

LEADS: Final = (
    r"please|pls|plz|kindly|ok|okay|yes|yep|yeah|yup|sure|great|good|nice|perfect|cool|awesome|thanks|thank you|alright|"
    r"right|lgtm|well|hey|hi|claude|(?:looks|sounds) (?:good|great|fine)|now|then|next|first|finally|lastly|afterwards?|and|also|so|"
    r"just|simply|quickly|maybe|directly|go ahead|go on|go|feel free to|let's|lets|let us|"
    r"(?:can|could|would|will) (?:you|u)|(?:can|could) we|(?:you|we) (?:can|may|could|should|must)|"
    r"i think (?:you|we) (?:can|should)|i(?:'d| would) (?:like|love)(?: (?:you|us))? to|i (?:want|need) (?:you|us) to|"
    r"i (?:want to|allow you to)|want you to|you(?:'re| are) (?:free|allowed) to|(?:it's |it is )?(?:ok|okay|fine|good|time|safe|free) to|"
    r"make sure (?:to|you)|be sure to|remember to|try to|don't (?:forget|hesitate) to|don't forget and|proceed to|continue to|"
    r"after (?:that|this)|when(?:ever)? (?:you(?:'re| are) )?(?:done|finished|ready)|when (?:it's|that's) (?:done|finished|ready)|"
    r"once (?:(?:you're|you are|it's|it is|that's|everything is|all is|they are) )?(?:done|finished|green|ready)|"
    r"if (?:(?:all|everything|it|they|the|tests?) )*(?:(?:is|are|looks?) )?(?:good|green|fine|ok|works?|pass(?:es)?)|"
    r"bitte|dann|jetzt|und|mal|lass uns|lasst uns|kannst du|könntest du|du kannst|du darfst|wir können|"
    rf"{_OBJECTS}(?= (?:committen|pushen|mergen|deployen)\b)"
)
"""Words and phrases that may precede the verb of a request."""

WISHES: Final = r"\b(?:(?:can|could|would|will) (?:you|u|we)|please|pls|let's|lets|kannst|könntest|bitte)\b"
"""Words that make a question a request."""

GOING_ON: Final = frozenset("keep start continue begin".split())
"""Verbs that precede "committing"."""

FOLLOWING: Final = frozenset(
    """
    it this that them these those the a an all my our your their everything whatever what changes change code work now to when
    as in on with up and then please pls for again just first after without if so directly straight here both each every once
    before via using from along together immediately already-staged staged unstaged uncommitted current latest new local
    remaining updated small often frequently early regularly origin upstream main master develop staging production prod live
    branch branches tags only too also things stuff files today right away force git you x
    das es alles die den jetzt bitte mal dann und nach auf
    """.split()
)
"""Words that may follow a verb. Before any other word it is a noun: "push notifications", "commit message"."""

OTHERWISE: Final = (
    r"\b(?:only (?:when|if|after|once|with|on)|unless|until|when(?:ever)? i|if i|as soon as i|later|tomorrow|nothing|nicht|myself|"
    r"should (?:be|not|have)|must (?:be|not)|fails?|failed|down|left|aside|below|"
    r"above|further|back|onto|stack|queue|array|lists?|heap|items?|elements?|values?|functions?|class(?:es)?|methods?|"
    r"helpers?|locks?|memory|resources?)\b(?! away)"
)
"""Words after a verb that make it no request, or one for another time or thing: "push the item onto the stack"."""

_HOOKS: Final = frozenset("hook hooks verify verification check checks".split())
NEEDING: Final = {"force": frozenset({"push"}), "skip": _HOOKS, "bypass": _HOOKS}
"""Words that count only together with another word."""

NEAR: Final = 3
"""Maximum number of words after "with" to the name of a program."""

CARRYING: Final = frozenset({"and", "or", "und"})
PARTING: Final = frozenset({"then", "and then", "but", "und dann"})
"""Words between clauses that continue a negation, and words that end one."""
NEGATIONS: Final = frozenset(
    "not never without no dont cannot stop avoid nothing nor neither nicht kein keine nie".split()
)

YES: Final = frozenset(
    """
    yes yep yeah yup y sure ok okay go approved confirmed proceed lgtm ja jawohl oui si sí da 네 예 응 넵 좋아 그래 好 好的 是
    是的 可以 はい
    """.split()
)
YES_PHRASES: Final = (
    r"\b(?:go (?:ahead|for it)|do (?:it|that|so)|please do|sounds (?:good|great)|looks good|mach (?:das|es|mal))\b"
)
YES_FILLERS: Final = frozenset("please now then that this it bitte gern".split())
YES_MAX: Final = 6
"""Words and phrases of a yes, filler words, and the maximum number of words."""

FOREIGN_NOT: Final = (
    "不|别|別|勿|未|没|沒|禁止|为什么|為什麼|怎么|怎麼|失败|失敗|错误|錯誤|问题|問題|마세요|말|않|안 |안돼|마$|금지|왜|실패|에러|엘러|なぜ|ないで|"
    "禁|ません|だめ"
)
"""Signs in Chinese, Korean or Japanese that a clause is not a request."""
FOREIGN_BEFORE: Final = (
    r"(?:^|[a-z0-9\s]|请|請|帮我|幫我|就|可以|然后|然後|并|並|再|先|去|来|來|直接|完|好|后|後|把.{1,12}|を|で|고|て)"
)
FOREIGN_BEHIND: Final = (
    r"(?:\s?(?:까지 ?)?(?:해(?!서|도 안)|하고|하자|하세요|할래|부탁|ㄱㄱ|좀)|して(?!い|る)|し、|お願い|"
    r"(?!了|过|過|时|時|后|後|的|通知|记录|記錄|历史)[\u4e00-\u9fff]|$)"
)
"""Context before and after such a word if it is the verb of a request."""
CODE_BEFORE: Final = frozenset("run use execute try do call with via using please then and just to now".split())
"""Words before code that stands for itself."""
