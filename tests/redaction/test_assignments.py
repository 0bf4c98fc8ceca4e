import pytest

from learning_memory_server.redaction.assignments import Promise, promise_of


@pytest.mark.parametrize(
    ("name", "promise"),
    [
        ("DB_PASSWORD", Promise.PASSWORD),
        ("dbPassword2", Promise.PASSWORD),
        ("hashed_password", None),
        ("clientSecret", Promise.KEY),
        ("AWS_SECRET_ACCESS_KEY", Promise.KEY),
        ("api-key", Promise.KEY),
        ("APIKey", Promise.KEY),
        ("stripe_key", Promise.MAYBE),
        ("primary_key", None),
        ("next_page_token", None),
        ("access_token", Promise.KEY),
        ("author", None),
        ("token_type", None),
    ],
)
def test_a_name_promises_what_its_last_words_say(name: str, promise: Promise | None) -> None:
    assert promise_of(name) is promise
