"""Phrases in rules, as parts of case-insensitive regular expressions."""

from typing import Final

BRANCHES: Final = (
    r"main|master|develop|development|dev|trunk|production|prod|staging|release/\*|release/\S+|mainline|default branch"
)
"""Names of branches that people protect."""

STARTS: Final = (
    "never|no|not|don't|dont|do not|do n't|must|always|use|so|but|"
    "(?:and )?(?:never|always|use|i|we|it|they|then|don't|dont|do not|do n't|no)|avoid|even|because|since|as|it|it's|they|this|that|these|i|"
    "we|you|he|she|let|tell|make sure|ask|instead|which|who|other|people|unless|except|if|when|only|just|there|every|"
    "the|nor|run|push to|work on|open a|create a|make a|nie|niemals|kein|keine"
)
"""Words that begin a new clause after a comma; before any other word, a comma separates the items of a list."""

LEADS: Final = (
    "so|and|but|please|also|you|we|agents?|ai agents?|claude|then|or|just|strictly|absolutely|again|important|critical|note|"
    "warning|nor|rule|in this (?:project|repo\\w*|codebase)|(?:when|if|whenever) (?:you )?commit\\w*"
)
"""Words before a verb that do not change the meaning."""

NEVER: Final = (
    "(?:must |should |shall |are to |do |may |can |will )?never(?: ever)?|(?:do|must|should|shall|may|can|will) (?:absolutely )?not(?: ever)?|"
    "don't(?: ever)?|do n't|dont|mustn't|shouldn't|can't|cannot|avoid|refrain from|stop|"
    "under no circumstances(?: should you| may you| must you)?|(?:is |are )?not allowed to|"
    "(?:the user|user|i) (?:does not|doesn't|do not|don't|never) wants?(?: (?:you|me|it|agents?) to)?|"
    "it(?: is|'s) (?:strictly )?(?:forbidden|prohibited|not allowed) to"
)
"""Phrases that forbid the verb after them."""

NOT_A_NO: Final = "longer|need|one|matter|doubt|problem|idea|more|other|only|all|every|just|necessarily|always|yet|so"
"""Words after `no` and `not` that do not forbid anything."""

ADVERBS: Final = "strictly|absolutely|always|never|completely|explicitly"

OUTLAWED: Final = (
    "forbidden|prohibited|banned|not (?:allowed|acceptable|permitted|ok|okay|an option|used)|never (?:allowed|acceptable|ok|okay|an option)|"
    "unacceptable|off[- ]limits|read[- ]only|immutable"
)
"""Phrases that forbid the noun before them."""

CONDITIONS: Final = "unless|until|without|except|if|when|whenever|while|before|after|during|only|outside|inside|within|other than|apart from|besides|excluding|but"
"""Words that begin a condition."""

EXCEPTIONS: Final = (
    "(?:^|\\b)(?:unless|except\\w*|excluding|other than|apart from|until|only (?:if|when|after|with|for|on|in|allowed)|"
    "if (?:you|it|i|we|this|that)?\\s*(?:is |are |do |did )?(?:really|absolutely|must|have to|need|necessary|needed|ever|want|ask|tell|say)|"
    "when (?:necessary|needed|explicitly|asked|told|requested)|(?:where|if|when|as far as) possible|"
    "(?:is|are|'s) (?:fine|ok|okay|allowed|acceptable|permitted)|(?:fine|ok|okay|allowed|acceptable) (?:to|if|when|for|on|in)|"
    "unnecessar\\w*|needless\\w*|usually|generally|normally|try to|where appropriate|ideally|mostly)\\b"
)
"""Words that introduce an exception."""

FRAME: Final = (
    "(?:^|(?<=\\s))(?:(?:if|when(?:ever)?|while|in|for|on|before|after|to|of|from|with|by|into)\\s+(?:you\\s+(?:are\\s+)?|we\\s+)?"
    "(?:(?:the|our|all|any|your|git|a|every|making|create|creating|writing|opening|doing|new)\\s+)*"
    "(?:commits?(?: messages?)?(?: bod\\w+)?|committing|pr (?:descriptions?|bod\\w+)|prs?|pull[- ]requests?(?: descriptions?| bod\\w+)?)"
    "(?:\\s*(?:,|/|and|or|, or|, and)\\s*(?:in )?(?:commits?(?: messages?)?|prs?(?: descriptions?| bod\\w+)?|pull[- ]requests?(?: descriptions?| bod\\w+)?))*"
    "|(?:when|while) pushing|(?:in|for) (?:this|the|our) (?:project|repo\\w*|code ?base|monorepo|workspace))(?=$|[\\s,.!;:)])"
)
"""Phrases for a scope in which the rule applies anyway."""

PERSON: Final = (
    "\\b(?:ask|asks|asked|asking|told|tell|tells|telling|request|requests|requested|permission|consent|instruct\\w*|say so|says so|"
    "say it|i say|go-ahead|go ahead|unprompted|explicit(?:ly)?|want (?:you|it|me)|my (?:\\w+ )?(?:ok|okay|yes|approval|confirmation|word)|approv\\w*|"
    "confirm\\w*|authoriz\\w*|authoris\\w*|sign-?off|without me(?! (?:having|needing)\\b))\\b"
)
"""Phrases that mean: only if the person asks."""

_UNIT: Final = r"(?:tasks?|jobs?|sessions?|work|features?|(?:code |file )?(?:changes?|edits?))"

EACH_CHANGE: Final = (
    r"\bafter (?:(?:every|each|any) (?:single )?(?:set of )?(?:code |file )?(?:changes?|edits?)\b|"
    r"(?:making|doing) (?:(?:any|each|every|code|your|the|all) )*(?:changes?|edits?)\b|"
    r"(?:changing|editing|modifying) (?:(?:any|the|your) )?(?:code|source)\b|(?:any )?code changes\b)"
    r"(?! (?:to|in|of|on|that|which|where|under|inside|with|for|files?)\b(?! (?:the |any |your )?(?:code|source|codebase)\b))"
)
"""Phrases that mean: whenever code has been changed."""

WHEN_DONE: Final = (
    r"(?:(?:when(?:ever)?|once|after|as soon as) (?:(?:you are|you're|you have|everything is|all is|the (?:task|work) is|work is|it is|it's) )?"
    rf"(?:done|finished|completed?)(?: (?:with )?(?:(?:a|an|the|each|every|any|your) )?{_UNIT})?|"
    rf"at the end of (?:a|the|each|every|your|any) {_UNIT}|"
    rf"after (?:(?:completing|finishing) )?(?:a|an|the|each|every|any|your) {_UNIT})"
)
"""Phrases that mean: at the end of work."""

SEEN_ELSEWHERE: Final = (
    "\\b(?:tests?|testing|lint\\w*|review\\w*|ci|builds?|green|pass\\w*|secrets?|hotfix\\w*|code ?owners?|maintainers?|team|lead|colleague|"
    "someone|somebody|qa|staging|ticket|issue|coverage|approved pr|friday)\\b"
)
"""Words in conditions that a prompt cannot satisfy."""

ALONE: Final = "\\b(?:automatically|on your own(?: initiative)?|(?<!add )(?<!list )(?<!name )(?<!credit )(?:by )?yourself|unasked|unprompted|proactively|auto-?(?=commit|push|merge|deploy))(?![\\w])"
"""Phrases that mean: without being asked by the person."""

FILLERS: Final = (
    "ever|please|just|at all|under any circumstances?|for any reason(?: whatsoever)?|here|there|no matter what|not once|again|"
    "anymore|any more|anywhere|in any case|whatsoever|directly|straight|manually|by hand|under no circumstances|period|ok|in (?:this|the|our) (?:project|repo\\w*|code ?base)|"
    "the|a|an|any|anything|your|my|our|as well|too|either|also|etc|or similar"
)
"""Words in a ban that do not change its meaning."""

REASONS: Final = (
    "because|since|as (?:it|they|this|that|we|i|the)|so that|so (?:i|we|the|it|they)|to (?:avoid|keep|prevent|make sure|ensure)|"
    "(?:it|they|this|that)(?:'s|'re| is| are| will| can| breaks| was)|which|otherwise|(?:i|we) (?:do|want|need|like|will|can|have)|for (?:a )?cleaner|due to|why"
)
"""Words that introduce a reason."""

DOINGS: Final = {"push": r"push|푸시|推送|推上", "commit": r"commit|커밋|提交", "deploy": r"deploy|배포|部署"}
"""Names of commands in other languages."""

_ASIAN: Final = r"(?:git\s*)?(?:commit|push|deploy|커밋|푸시|배포|提交|推送|部署)"

UNASKED: Final = (
    rf"(?:지시|요청|허락|승인|동의|말)[^.,]{{0,8}}?(?:때만|경우에만|후에만)\s*{_ASIAN}(?:[/,·와과및\s]*{_ASIAN})*",
    rf"(?:지시|요청|허락|승인|동의|허가|확인)\s*(?:이|가)?\s*없이(?:는)?\s*(?:절대\s*)?{_ASIAN}(?:[/,·와과및\s]*{_ASIAN})*[^.]{{0,8}}?(?:금지|않|말|마)",
    rf"(?:未经|未經|没有|沒有)[^\uff0c,\u3002]{{0,8}}(?:允许|允許|同意|许可|許可|要求|指示|批准|授权)[\uff0c,\s]*(?:请|請)?(?:不要|不得|禁止|不准|绝不|勿|严禁|切勿|不可|不能)\s*(?:自动|擅自|执行)?\s*{_ASIAN}(?:[/、和或与\s]*{_ASIAN})*",
    rf"(?:不要|不得|禁止|不准|绝不|勿|严禁|切勿|请勿|別|别)\s*(?:自动|自動|擅自|主动|主動)\s*{_ASIAN}(?:[/、和或与\s]*{_ASIAN})*",
    r"(?:nie|niemals|nicht|kein\w*)\s+(?:ohne|ungefragt)\b[^.,;]{0,40}?\b(?:push\w*|commit\w*|deploy\w*)(?:\s*(?:,|/|und|oder)\s*(?:push\w*|commit\w*|deploy\w*))*",
    r"\bohne\s+(?:\w+\s+){0,2}(?:erlaubnis|freigabe|zustimmung|rückfrage|auftrag|aufforderung|nachfrage)\s+(?:nie|niemals|nicht|nichts|keine?)\s+(?:push\w*|commit\w*|deploy\w*)(?:\s*(?:,|/|und|oder)\s*(?:push\w*|commit\w*|deploy\w*))*",
    r"\b(?:nie|niemals|nicht)\s+(?:push\w*|commit\w*|deploy\w*)(?:\s*(?:,|/|und|oder)\s*(?:push\w*|commit\w*|deploy\w*))*,?\s+(?:ohne (?:\w+ )?(?:erlaubnis|freigabe|zustimmung|rückfrage|aufforderung)|außer ich|es sei denn,? ich|bevor ich|wenn ich (?:es|dich) nicht|solange ich)",
    r"\bnur\s+(?:auf (?:meine )?(?:anweisung|aufforderung|wunsch)|wenn ich (?:es|dich|dir)[^.;]{0,25}?)\W+(?:push\w*|commit\w*|deploy\w*)(?:\s*(?:,|/|und|oder)\s*(?:push\w*|commit\w*|deploy\w*))*",
)
"""Korean, Chinese and German for: do not push, commit or deploy unless asked."""

TRAILER_ELSEWHERE: Final = (
    r"(?:不要|不得|禁止|请勿|請勿|切勿|不可|别|別|不)\s*(?:在[^\uff0c\u3002]{0,20})?(?:添加|加入|加上|包含|使用|带|帶|出现|附加|加)[^\uff0c\u3002]{0,30}co-?author|"
    r"co-?author\w*(?:-by)?[^.\u3002]{0,25}?(?:금지|넣지 (?:말|마|않)|추가하지 (?:말|마|않)|쓰지 (?:말|마|않)|붙이지 (?:말|마|않)|제외)|"
    r"co-?author\w*(?:-by)?[^.\u3002]{0,12}?(?:禁止|不要)|"
    r"\b(?:keine?n?|nie(?:mals)?)\b[^.;]{0,40}?\bco-?author|co-?author[^.;]{0,40}?\b(?:nie(?:mals)?|nicht) (?:hinzufügen|verwenden|einfügen|setzen|anhängen)"
)
"""German, Chinese and Korean for: no trailer."""

ALL_USES: Final = (
    r"(?:for|as) (?:everything|anything|all (?:package|dependency|commands|scripts|python|javascript|node)[\w ]*|(?:package|dependency|dependencies) ?(?:management|manager|installs?|installation)?|packages|dependencies)|"
    r"(?:as )?(?:the )?package manager|in this (?:project|repo\w*|code ?base|monorepo)|(?:project|repo)-?wide|everywhere|exclusively|only|always|commands?|instead"
)
"""Phrases for all uses of a program."""

TRANSLATED: Final = (
    (r"(?:请|請)?(?:不要|禁止|请勿|請勿|不得|严禁|嚴禁)\s*(?:使用|用|运行|執行|执行)\s*(?=[`a-z])", "never use "),
    (r"(?:请|請|始终|始終|必须|必須|一律)?\s*使用\s*(?=[`a-z])", "use "),
    (r"^(?:immer |bitte |stets )*(?:verwende|nutze|benutze|nimm)\w*\s+", "use "),
    (r"\s+(?:statt|anstatt|anstelle von)\s+", " instead of "),
    (r"\b(?:nie|niemals)\s+(?=`)", "never use "),
    (r"\bkeine?n?\s+(?=`)", "no "),
    (r"\uff0c", ", "),
)
"""Translations to English of words before a command."""

VERBS: Final = {
    "push": r"`?git push`?(?: operations?| commands?)?|(?:git )?push(?:es|ing)?",
    "commit": r"`?git commit`?|(?:git )?commit(?:s|ting)?|(?:make|making|create|creating|do|doing) (?:new |git )?commits?",
    "merge": r"merg(?:e|es|ing)(?: (?:prs?|pull requests?))?|`gh pr merge`",
    "deploy": r"(?:make |do )?deploy(?:s|ing|ments?)?(?: commands?| scripts?)?",
    "publish": r"publish(?:es|ing)?|`npm publish`|`cargo publish`",
    "amend": r"amend(?:ing)?(?: commits?)?|`git commit --amend`",
    "rebase": r"rebas(?:e|ing)|`git rebase`",
    "pull": r"(?:git )?pull(?:ing)?|`git pull`",
    "request": r"(?:open|create|creating|opening|submit|submitting) (?:new |draft )?(?:prs?|pull requests?)|`gh pr create`",
}
"""Acts that need a person's permission."""
