"""Reference: what changes in `index.ranking.terms` (the rest stays)."""
import re, unicodedata
from learning_memory_server.index.ranking import terms as old
import Stemmer

# Accents, and the points of Hebrew and Arabic. Russian \u0439 stays: its stemmer knows endings by it.
_ACCENT = re.compile("[\u0300-\u0305\u0307-\u036f\u0591-\u05c7\u064b-\u065f\u0670]|(?<![\u0418\u0438])\u0306")
# `\w` has no combining marks: without these blocks, a word of Hindi or Thai would end at each vowel sign.
_MARKED = "\u0900-\u0963\u0966-\u0e3e\u0e40-\u109f\u1780-\u17d3"
_LETTER = f"[\\w{_MARKED}]"
_RUN = re.compile(rf"({_LETTER}{{1,64}}(?:(?:[./\\-]|::){_LETTER}{{1,64}}){{0,16}})(?:['\u2019](?:d|ll|m|re|s|t|ve)\b)?")
_WORD = re.compile(rf"{_LETTER}+")
_PART = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|(?:[^\W\d_A-Za-z]|[" + _MARKED + "])+")
# Scripts without spaces between words, and Hangul, whose words carry their endings. Any neighbouring characters are a term:
# two where a character is a syllable or a word, three where it is a letter.
_PAIRS = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TRIPLES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SEGMENT = re.compile(f"([{_PAIRS}]+)|([{_TRIPLES}]+)|[^{_PAIRS}{_TRIPLES}]+")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_stem = {"latin": Stemmer.Stemmer("english", 0).stemWord, "cyrillic": Stemmer.Stemmer("russian", 0).stemWord}

def terms(text):
    if not text.isascii():
        text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFKD", text)))
    runs = _RUN.findall(text)
    found = [t for run in runs for t in of_run(run, False)]
    return found or [t for run in runs for t in of_run(run, True)]

def of_run(run, common):
    words = _WORD.findall(run)
    found = [t for w in words for t in of_word(w, common)]
    if len(words) > 1: found.append(run.casefold())
    return found

def of_word(word, common):
    out = []
    for m in _SEGMENT.finditer(word):
        seg = m[0]
        n = 2 if m[1] else 3 if m[2] else 0
        if n: out += [seg[i:i + n] for i in range(max(1, len(seg) - n + 1))]
        else: out += spaced(seg, common)
    return out

def spaced(word, common):
    if word.isalpha() and (word[1:].islower() or word.isupper() or len(word) == 1): parts = [word.casefold()]
    else: parts = [p.casefold() for p in _PART.findall(word)]
    found = [stem(p) for p in parts if common or p not in old._STOP_WORDS]
    if len(parts) > 1: found.append("".join(parts))
    return found

def stem(part): return _stem["cyrillic" if _CYRILLIC.match(part) else "latin"](part)

_TRIPLE = re.compile(f"[{_TRIPLES}]{{3}}")
def length(found):
    """The length of a text in terms; three characters of a script whose characters are letters count as a third of a word."""
    return sum(1 / 3 if _TRIPLE.fullmatch(t) else 1 for t in found)
