from learning_memory_server.lessons.clustering.labels import label_clusters

FLASK = [
    "Goal: stop the token check from failing. The Flask app loads a static key.",
    "The token is rejected because the Flask app reads the static key twice.",
    "Fix the login: the Flask app compares the token with a stale static key.",
]
MIGRATION = [
    "Hypothesis: the schema migration locks the orders table.",
    "The schema migration runs in one transaction and locks every table.",
    "A schema migration without a lock timeout blocks the table.",
]
PARSER = [
    "parse_date fails on a leap day; ValueError comes from strptime.",
    "parse_date loses the offset when strptime raises ValueError.",
]


def test_each_cluster_is_labelled_with_its_distinctive_terms() -> None:
    flask, migration, parser = (name.split(", ") for name in label_clusters([FLASK, MIGRATION, PARSER]))

    assert set(flask) == {"flask app", "static key", "token"}
    assert migration[0] == "schema migration"
    assert "table" in migration
    assert set(parser) == {"parse_date", "strptime", "ValueError"}


def test_identifiers_keep_their_spelling_and_words_are_lower_case() -> None:
    texts = ["Why does asyncio.TimeoutError hide it? Utf-8 ok", "Here asyncio.TimeoutError again with utf-8"]

    assert label_clusters([texts]) == ["asyncio.TimeoutError, utf-8"]


def test_words_that_every_cluster_shares_are_in_no_label() -> None:
    shared = [[f"{text} pytest" for text in texts] for texts in (FLASK, MIGRATION, PARSER)]

    assert not any("pytest" in name for name in label_clusters(shared))


def test_words_of_the_noise_are_less_distinctive() -> None:
    texts = ["cache eviction order", "cache eviction order"]

    (alone,) = label_clusters([texts])
    (beside_noise,) = label_clusters([texts], background=["cache eviction"] * 9)

    assert alone.split(", ")[0] == "cache eviction"
    assert beside_noise.split(", ")[0] == "eviction order"


def test_headings_statuses_and_stop_words_are_in_no_label() -> None:
    texts = ["Outcome: confirmed. The hypothesis was that it is the socket.", "Lesson: it was the socket, confirmed."]

    assert label_clusters([texts]) == ["socket"]


def test_words_are_not_joined_across_lines() -> None:
    texts = ["checkout tasks\ndebugging", "checkout tasks\ndebugging", "checkout tasks\r\ndebugging"]

    assert label_clusters([texts]) == ["checkout tasks, debugging"]


def test_a_word_of_a_single_text_is_not_in_the_label() -> None:
    assert label_clusters([["socket leak", "socket zebra zebra zebra"]]) == ["socket"]


def test_without_shared_words_the_words_of_single_texts_are_used() -> None:
    assert label_clusters([["socket", "zebra"]]) == ["socket, zebra"]


def test_a_word_and_its_plural_are_not_both_shown() -> None:
    assert label_clusters([["leak leaks", "leak, leaks"]]) == ["leak"]


def test_texts_without_words_and_clusters_without_texts_have_no_label() -> None:
    assert label_clusters([["1234 !!", "the of"], []]) == ["", ""]
    assert label_clusters([]) == []


def test_the_order_of_the_texts_does_not_change_the_label() -> None:
    assert label_clusters([FLASK[::-1], MIGRATION, PARSER])[0] == label_clusters([FLASK, MIGRATION, PARSER])[0]
