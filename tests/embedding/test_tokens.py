import json
import shutil
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.graph import TOKENIZER
from learning_memory_server.embedding.source import model_folder
from learning_memory_server.embedding.tokens import EstimatedTokens, ModelTokens, legibility
from learning_memory_server.errors import EmbeddingUnavailableError

TEXTS = ["The connection pool ran out.", "def read_file(path: str) -> bytes:\n    return b''", "x" * 500, ""]


def test_the_packaged_model_reads_256_tokens() -> None:
    measure = ModelTokens(model_folder(DEFAULT_MODEL))
    assert measure.window == 256
    assert measure.count(["connection", "", "two words"]) == [1, 0, 2]


def test_long_texts_are_counted_whole() -> None:
    measure = ModelTokens(model_folder(DEFAULT_MODEL))
    assert measure.count(["word " * 3000]) == [3000]


@pytest.mark.parametrize("measure", [EstimatedTokens(), ModelTokens(model_folder(DEFAULT_MODEL))])
def test_spans_and_counts_agree(measure: ModelTokens | EstimatedTokens) -> None:
    assert [len(measure.spans(text)) for text in TEXTS] == measure.count(TEXTS)
    for text in TEXTS:
        ends = [place for span in measure.spans(text) for place in span]
        assert ends == sorted(ends)
        assert all(0 <= place <= len(text) for place in ends)


def test_the_estimate_is_seldom_below_the_model() -> None:
    model = ModelTokens(model_folder(DEFAULT_MODEL)).count(TEXTS[:2])
    assert all(guess >= real for guess, real in zip(EstimatedTokens().count(TEXTS[:2]), model, strict=True))


@pytest.mark.parametrize(("stated", "window"), [(128, 128), (8192, 256), (None, 256), ("x", 256)])
def test_the_window_is_what_a_models_files_say_up_to_256(tmp_path: Path, stated: object, window: int) -> None:
    shutil.copy(model_folder(DEFAULT_MODEL) / "tokenizer.json", tmp_path)
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": stated}))
    assert ModelTokens(tmp_path).window == window


def test_a_missing_model_has_no_folder(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailableError):
        model_folder(str(tmp_path / "nothing"))


def packaged() -> Tokenizer:
    return Tokenizer.from_file(str(model_folder(DEFAULT_MODEL) / TOKENIZER))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("why do requests wait for a connection", 1.0),
        ("bäume wachsen über nacht", 0.225),
        ("为什么请求要等待连接", 0.0),
        ("", 1.0),
        ("42 ?!", 1.0),
        ("why do requests wait for a connection read_file /etc/nginx.d v1.2.3-rc4 ORA-00942 xyz123", 1.0),
        ("fstlj", 0.0),
        ("bäume wachsen read_file über nacht", 0.225),
        ("为什么请求要等待3个连接", 0.0),
    ],
)
def test_a_model_reads_what_its_tokenizer_cuts_into_long_pieces(text: str, read: float) -> None:
    assert legibility(packaged(), text) == pytest.approx(read)
    assert legibility(None, text) == 1


def test_an_unknown_piece_counts_as_one_for_each_letter_and_a_han_character_as_two() -> None:
    words = {"[UNK]": 0, "数据": 1, "pool": 2}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = Whitespace()
    assert legibility(tokenizer, "数据") == 1
    assert legibility(tokenizer, "数据 超时") == 0
    assert legibility(tokenizer, "pool 超") == pytest.approx(0.0)
    assert legibility(tokenizer, "pool pool 超") == pytest.approx((8 / 3 - 2.4) / 1.0)
