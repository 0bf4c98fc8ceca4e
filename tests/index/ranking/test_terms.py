import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.index.ranking.terms import encode_document, encode_query, length, term_id, terms, weight
from tests.support import TEXTS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Caches cached caching", ["cach", "cach", "cach"]),
        ("read_file", ["read", "file", "readfile"]),
        ("readFile", ["read", "file", "readfile"]),
        ("ReadFile()", ["read", "file", "readfile"]),
        ("__init__", ["init"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("HTTP", ["http"]),
        ("MAX_RETRIES", ["max", "retri", "maxretries"]),
        ("sha256", ["sha", "256", "sha256"]),
        ("os.path.join", ["os", "path", "join", "os.path.join"]),
        ("src/app.py:42", ["src", "app", "py", "src/app.py", "42"]),
        (r"C:\temp\b", ["c", "temp", "b", r"temp\b"]),
        ("std::vector", ["std", "vector", "std::vector"]),
        ("ORA-00942", ["ora", "00942", "ora-00942"]),
        ("E0308", ["e", "0308", "e0308"]),
        ("v2.1.0", ["v", "2", "v2", "1", "0", "v2.1.0"]),
        ("It ends. Next one", ["end", "next", "one"]),
        ("the server's cache doesn't expire", ["server", "cach", "expir"]),
        ("Caf\u00e9 \u00dcBER", ["cafe", "uber"]),
        ("cafe\u0301", ["cafe"]),
        ("stra\u00dfe STRASSE", ["strass", "strass"]),
        ("\u041f\u0440\u0438\u0432\u0435\u0442", ["\u043f\u0440\u0438\u0432\u0435\u0442"]),
        ("\u6570\u636e\u5e93", ["\u6570\u636e", "\u636e\u5e93"]),
        ("\u5e93", ["\u5e93"]),
        ("\ud55c\uad6d\uc5b4", ["\ud55c\uad6d", "\uad6d\uc5b4"]),
        ("___ !? \U0001f680", []),
        ("", []),
    ],
)
def test_a_text_becomes_stems_names_and_their_parts(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dockerイメージを削除", ["docker", "イメ", "メー", "ージ", "ジを", "を削", "削除"]),
        ("用redis缓存会话", ["用", "redi", "缓存", "存会", "会话"]),
        ("Redis가 느리다", ["redi", "가", "느리", "리다"]),
        ("เปิดnginxใหม่", ["เปิ", "ปิด", "nginx", "ใหม", "หม่"]),
        ("ย้าย git", ["ย้า", "้าย", "git"]),
        ("Паузы Nginxом, короткий utf8", ["пауз", "nginx", "ом", "коротк", "utf", "8", "utf8"]),  # noqa: RUF001 - the word mixes scripts
        ("सभी git शाखाएँ मिटाओ", ["सभी", "git", "शाखाएँ", "मिटाओ"]),
        ("أعِدْ تشغيل الdocker", ["اعد", "تشغيل", "ال", "docker"]),  # noqa: RUF001 - the word mixes scripts
        ("קוֹבֶץ־לוג שלnginx", ["קובץ", "לוג", "של", "nginx"]),
        ("10μs", ["10", "μ", "s", "10μs"]),
    ],
)
def test_a_word_is_cut_where_its_script_changes(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("written", "others"),
    [
        ("Straße", ["STRASSE", "STRAẞE", "strasse"]),
        ("Größe", ["GRÖSSE", "GRÖẞE", "grosse"]),
        ("Łódź", ["ŁÓDŹ", "LODZ", "lodz"]),
        ("smørrebrød", ["SMØRREBRØD", "smorrebrod"]),
        ("Ærø", ["ÆRØ", "aero"]),
        ("Þórður", ["ÞÓRÐUR", "THORDUR", "thordur"]),
        ("Đorđe", ["ĐORĐE", "dorde"]),
        ("đường", ["ĐƯỜNG", "duong"]),
        ("\u0131\u015f\u0131k", ["IŞIK", "isik"]),
        ("İstanbul", ["İSTANBUL", "ISTANBUL", "istanbul", "i\u0307stanbul"]),
        ("Azərbaycan", ["AZƏRBAYCAN", "azerbaycan"]),
        ("œuvre", ["ŒUVRE", "Œuvre", "oeuvre"]),
        ("ħobż", ["ĦOBŻ", "hobz"]),
        ("čeština", ["ČEŠTINA", "cestina"]),
        ("gákŋut", ["GÁKŊUT", "gaknut"]),
        ("ɓauna", ["ƁAUNA", "bauna"]),
        ("ɛwɔ", ["ƐWƆ", "ewo"]),
        ("țară", ["ȚARĂ", "ţară", "tara"]),
        ("ĳsberg", ["ĲSBERG", "ijsberg"]),
        ("garçon", ["GARÇON", "garc\u0327on", "garcon"]),
    ],
)
def test_a_latin_word_is_the_same_in_capitals_and_without_its_marks(written: str, others: list[str]) -> None:
    for other in others:
        assert terms(other) == terms(written)
        assert terms(f"{other}/log") == terms(f"{written}/log")


def test_three_letters_of_a_script_without_spaces_count_as_a_third_of_a_word() -> None:
    assert length(terms("cache")) == 1
    assert length(terms("ล้างแคช")) == pytest.approx(5 / 3)
    assert length(terms("清空缓存")) == 3


def test_common_words_are_skipped_next_to_others() -> None:
    assert terms("why is the cache stale") == ["cach", "stale"]
    assert terms("To be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert terms("is_in") == ["isin"]


def test_data_in_a_text_gives_terms_of_bounded_length() -> None:
    found = terms("A" * 10_000 + " " + "x/" * 10_000 + " end")

    assert found[-1] == "end"
    assert max(len(term) for term in found) <= 64 * 17 + 32


@given(TEXTS)
def test_any_text_gives_a_valid_sparse_vector(text: str) -> None:
    indices, values = encode_document(text)

    assert indices == sorted(set(indices))
    assert set(indices) == {term_id(term) for term in terms(text)}
    assert all(0 <= index < 2**32 for index in indices)
    assert len(values) == len(indices)
    assert all(0 < value < 2.2 for value in values)


@given(TEXTS)
def test_any_text_used_as_a_query_asks_for_its_own_terms(text: str) -> None:
    indices, values = encode_query(text)

    assert indices == encode_document(text)[0]
    assert values == [1.0] * len(indices)


@given(TEXTS, st.lists(st.sampled_from([" ", "\n", ", "]), min_size=1, max_size=3).map("".join))
def test_any_spacing_around_a_text_makes_no_difference(text: str, spacing: str) -> None:
    assert terms(spacing + text + spacing) == terms(text)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz ", max_size=60))
def test_case_of_plain_words_makes_no_difference(text: str) -> None:
    assert terms(text.upper()) == terms(text) == terms(text.title())


def test_a_rare_term_repeated_counts_more_than_once_and_no_more_than_twice() -> None:
    assert weight(1, 20) < weight(2, 20) == weight(9, 20)


def test_a_term_counts_less_in_a_longer_text() -> None:
    assert weight(1, 10) > weight(1, 32) == 1.0 > weight(1, 100) > 0


def test_term_ids_are_the_same_in_every_process() -> None:
    code = "from learning_memory_server.index.ranking.terms import encode_query as e; print(e('open_pool caf\\xe9')[0])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == str(encode_query("open_pool caf\u00e9")[0])
    assert term_id("cach") == 1283192808


def test_terms_load_without_any_heavy_library() -> None:
    code = (
        "import sys, learning_memory_server.index.ranking.terms;"
        "print([name for name in ('numpy', 'torch', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
