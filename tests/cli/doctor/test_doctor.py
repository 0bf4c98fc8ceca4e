"""`doctor`: whatever is broken is reported in a sentence, never a traceback."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.cli.doctor import Finding, Level, about, green
from learning_memory_server.cli.doctor.model import check_model
from learning_memory_server.cli.doctor.settings import check_space
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.engines.base import MIN_FREE_BYTES
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.claims import Claims
from learning_memory_server.server.settings import Settings
from tests.command_line import in_line, old_entry, printed
from tests.embedding.ollama_stub import OllamaStub
from tests.original_model import ORIGINAL
from tests.sharing.repositories import git
from tests.tiny_onnx import save_model


def model(backend: str, name: str | Path = "", **more: str) -> dict[str, str]:
    """Return the settings that choose a model."""
    named = {"LEARNING_MEMORY_EMBEDDING_MODEL": str(name)} if name else {}
    return {"LEARNING_MEMORY_EMBEDDING_BACKEND": backend, **named, **more}


def ollama(url: str, name: str = "nomic-embed-text") -> dict[str, str]:
    return model("ollama", name, LEARNING_MEMORY_OLLAMA_URL=url)


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_sound_installation_is_in_order(run: Any) -> None:
    result = printed(run("doctor"))
    assert (
        "24 entries, 0 values, 0 verdicts, 0 advice lines, 0 failure lines, 0 memories, 0 cluster changes, 0 server lines, 0 project lines, 0 answers, 0 rules, 0 rule counts: all checksums match."
        in result
    )
    assert "48 points." in result
    assert "The index has everything that is in the journal." in result
    assert "✗" not in result


def test_before_a_start_the_doctor_finds_no_problem_and_creates_nothing(run: Any, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    assert "The first start creates" in printed(run("doctor", LEARNING_MEMORY_STORAGE_PATH=str(fresh)))
    assert not fresh.exists()


@pytest.mark.slow
def test_a_pattern_that_can_take_forever_is_named(run: Any) -> None:
    slow = {"LEARNING_MEMORY_REDACTION_PATTERNS": json.dumps([r"acme-\d{6}", r"(a|aa)+$"])}
    result = printed(run("doctor", "--quick", **slow))
    assert "Pattern 2 of redaction_patterns takes very long on some texts" in result
    assert "Pattern 1" not in result


def test_quick_loads_no_model_and_opens_no_engine(run: Any, storage: Path) -> None:
    assert "the packaged weights are intact" in printed(run("doctor", "--quick", **model("sentence-transformers")))
    assert not list(storage.iterdir())


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    "name", ["entries/._2026-11.jsonl", "entries/.#2026-11.jsonl", "memories/._2026-11.jsonl", "._values.jsonl"]
)
def test_a_hidden_file_of_another_program_is_no_file_of_the_journal(run: Any, storage: Path, name: str) -> None:
    before = run("doctor", "--quick").stdout
    path = storage / "journal" / name
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.write_bytes(b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X")
    path.chmod(0o600)
    assert run("doctor", "--quick").stdout == before
    assert run("list").exit_code == 0
    assert path.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_an_edited_line_is_red_and_a_torn_one_is_yellow(run: Any, storage: Path) -> None:
    segment = next((storage / "journal" / "entries").iterdir())
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines) + lines[0][:40])
    assert "is unfinished" in printed(run("doctor", "--quick"))
    segment.write_bytes(lines[0].replace(b"memory leak", b"memory loss") + b"".join(lines[1:]))
    edited = printed(run("doctor"), 1)
    assert f"{segment.name} line 1: the checksum does not match" in edited
    assert "Not opened: correct what is red above first." in edited


def test_lines_set_aside_are_reported(run: Any, storage: Path) -> None:
    (storage / "journal").mkdir(mode=0o700)
    (storage / "journal" / "values.jsonl.corrupt-20260101T000000000000Z").touch(mode=0o600)
    assert "1 unfinished line set aside" in run("doctor", "--quick").stdout


@pytest.mark.parametrize("content", ["{", "[]", '{"id": 3}', "[" * 100_000, json.dumps({"domain": "x"})])
def test_an_unreadable_open_entry_is_named(content: str, run: Any, storage: Path) -> None:
    folder = storage / "journal" / "open"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "ghap_1.json").write_text(content, "utf-8")
    assert "The open entry ghap_1.json cannot be read" in printed(run("doctor", "--quick"), 1)


def test_a_folder_where_a_log_should_be_is_red(run: Any, storage: Path) -> None:
    (storage / "journal" / "values.jsonl").mkdir(parents=True, mode=0o700)
    said = printed(run("doctor", "--quick"), 1)
    assert "values.jsonl line 0: a folder or something else stands where the file belongs" in said


def test_a_broken_link_is_red(run: Any, storage: Path, tmp_path: Path) -> None:
    (storage / "journal").symlink_to(tmp_path / "nowhere")
    assert "is a broken link" in printed(run("doctor", "--quick"), 1)


def test_a_file_where_the_storage_folder_should_be_is_red(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        assert "✗ storage" in printed(run("doctor", LEARNING_MEMORY_STORAGE_PATH=str(path)), 1)


def test_a_folder_that_others_can_read_is_red(run: Any, storage: Path) -> None:
    storage.chmod(0o755)
    assert f"chmod 700 '{storage}'" in printed(run("doctor", "--quick"), 1)


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_damaged_index_is_reported_and_repaired(run: Any, storage: Path) -> None:
    for path in (storage / "index").rglob("edge_config.json"):
        path.write_text("{", "utf-8")
    result = run("doctor")
    assert "48 points from the journal are not in the index yet" in printed(result)
    assert "Collection `experiences_full` is damaged" in result.stderr
    _, repaired, checked_again = printed(run("doctor", "--fix")).partition("Repaired: The index was completed.")
    assert repaired
    assert "The index has everything that is in the journal." in checked_again


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_points_that_the_journal_does_not_have_are_removed_only_when_asked(run: Any, storage: Path) -> None:
    segment = next((storage / "journal" / "entries").iterdir())
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join(lines[1:]))
    assert "The index has 2 points that the journal does not have" in run("doctor").stdout
    fixed = run("doctor", "--fix")
    assert "Repaired: The index was rebuilt." in fixed.stdout
    assert "46 points." in fixed.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_fix_makes_folders_and_files_private(run: Any, storage: Path) -> None:
    segment = next((storage / "journal" / "entries").iterdir())
    storage.chmod(0o755)
    segment.chmod(0o644)
    found = printed(run("doctor", "--quick"), 1)
    assert "✗ storage" in found
    assert "is open to other users (0755)" in found
    assert run("doctor", "--quick", "--fix").exit_code == 0
    assert segment.stat().st_mode & 0o077 == 0
    assert storage.stat().st_mode & 0o077 == 0


def test_a_folder_that_any_user_can_replace_is_red(run: Any, storage: Path) -> None:
    storage.parent.chmod(0o777)
    found = printed(run("doctor", "--quick"), 1)
    assert f"Any user can replace {storage}, because {storage.parent} is writable by all" in in_line(found)
    storage.parent.chmod(0o1777)
    assert run("doctor", "--quick").exit_code == 0


@pytest.mark.parametrize("line", ["qdrant_api_key = 'k-123'", "ollama_url = 'https://ann:k-123@ollama.example.org'"])
def test_a_settings_file_with_a_key_must_be_private(
    run: Any, environment: dict[str, str], storage: Path, line: str
) -> None:
    assert storage.exists()
    file = Path(environment["LEARNING_MEMORY_CONFIG"])
    file.write_text("min_experiences = 5\n")
    file.chmod(0o644)
    assert run("doctor", "--quick").exit_code == 0
    file.write_text(f"{line}\n")
    found = run("doctor", "--quick")
    assert f"{file} holds {line.split(maxsplit=1)[0]} and is open to other users (0644)" in in_line(printed(found, 1))
    assert "k-123" not in found.output
    assert run("doctor", "--quick", "--fix").exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("min_experiences = 5\n")
    file.chmod(0o666)
    assert f"Any user can change {file}" in in_line(run("doctor", "--quick").stdout)


@pytest.mark.slow
def test_a_check_that_fails_is_named_and_the_others_are_made() -> None:
    def failing() -> Iterator[Finding]:
        yield green("one")
        raise ZeroDivisionError

    one, failed = about("model", failing())

    assert (one.sentence, one.topic) == ("one", "model")
    assert (failed.level, failed.topic) == (Level.RED, "model")
    assert failed.sentence.startswith("This check failed: ZeroDivisionError at ")


@pytest.mark.parametrize(
    "name", ["model.onnx", "/model.onnx", "a/b/c/model.onnx", "./model.onnx", ".onnx", "a/b/.onnx"]
)
def test_a_name_of_a_model_that_is_none_is_red(name: str, run: Any) -> None:
    said = in_line(printed(run("doctor", "--quick", **model("sentence-transformers", name)), 1))
    assert "is not on this machine" in said or "must be an absolute path" in said


def test_a_missing_model_is_red(run: Any, tmp_path: Path) -> None:
    result = run("doctor", **model("sentence-transformers", tmp_path / "absent"))
    assert "is not on this machine" in printed(result, 1)


@pytest.mark.slow
def test_what_runs_a_model_is_reported(run: Any, tmp_path: Path) -> None:
    assert "Loaded by onnxruntime" in run("doctor", **model("sentence-transformers")).stdout
    tiny = model("sentence-transformers", save_model(tmp_path / "tiny"))
    said = in_line(printed(run("doctor", **tiny)))
    assert "onnxruntime runs it: onnx/model.onnx, mean pooling, up to 12 tokens, no prompts." in said
    assert "Loaded by onnxruntime, and made a vector of length 8" in said


@pytest.mark.slow
@pytest.mark.torch
def test_a_model_without_an_onnx_file_is_run_by_the_library(run: Any) -> None:
    said = in_line(run("doctor", **model("sentence-transformers", ORIGINAL)).stdout)
    assert "runs it, because it brings no ONNX file." in said
    assert "Loaded by sentence-transformers" in said


def test_a_model_that_cannot_be_run_is_red(run: Any, tmp_path: Path) -> None:
    folder = save_model(tmp_path / "tiny")
    (folder / "modules.json").unlink()
    result = run("doctor", "--quick", **model("sentence-transformers", folder))
    assert "cannot be run: its pooling is unknown" in in_line(printed(result, 1))


@pytest.mark.usefixtures("filled")
def test_a_re_ranking_model_is_looked_for_and_used(run: Any, reranker_folder: Path) -> None:
    named = {"LEARNING_MEMORY_RERANKER_MODEL": str(reranker_folder)}
    assert f"The files of {reranker_folder} are in {reranker_folder}." in in_line(printed(run("doctor", **named)))
    assert run("search", "memory leak", **named).stdout.splitlines()[-1].partition(";")[0].endswith("mode: reranked")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("nobody/ranks", "Run `learning-memory-server setup --model nobody/ranks`"),
        pytest.param(
            str(ORIGINAL), "is not a re-ranking model. Set reranker_model to a cross-encoder", marks=pytest.mark.torch
        ),
    ],
)
@pytest.mark.usefixtures("filled")
def test_an_unusable_re_ranking_model_is_yellow_and_searches_work(model: str, said: str, run: Any) -> None:
    named = {"LEARNING_MEMORY_RERANKER_MODEL": model}
    result = in_line(printed(run("doctor", **named)))
    assert said in result
    assert "their results are not re-ranked" in result
    found = run("search", "memory leak", **named)
    assert found.stdout.splitlines()[-1].partition(";")[0].endswith("mode: hybrid")
    assert said in in_line(found.stderr)


@pytest.mark.slow
def test_with_ollama_everything_works_and_the_model_is_loaded_only_once(run: Any, write_lines: Any) -> None:
    with OllamaStub(dimension=384) as stub:
        unseen = run("doctor", **ollama(stub.url))
        filled = run("import", write_lines(*(old_entry(number) for number in range(3))), **ollama(stub.url))
        assert filled.exit_code == 0
        assert any(text.startswith("search_document: ") for text in stub.embedded)
        stub.requests.clear()
        result = printed(run("doctor", **ollama(stub.url)))
    assert "Its scale is not measured yet" in unseen.stdout
    for sentence in (
        f"Ollama 0.12.6 answers at {stub.url}.",
        "It has nomic-embed-text (digest 0a109f422b47).",
        "Loaded by ollama, and made a vector of length 384",
        "Its scale was measured: texts about different things have a cosine of 0.",
        "6 points.",
    ):
        assert sentence in result
    assert len([path for path, _ in stub.requests if path == "/api/show"]) == 1


@pytest.mark.usefixtures("restored_process")
def test_a_scale_that_could_not_be_measured_is_yellow_and_says_why_and_what_that_means() -> None:
    settings = Settings(embedding_model="acme/none")
    hub = {"model": "ready", "runtime": "torch", "scale_failed": "It is broken."}
    *_, finding = check_model(settings, load_packaged, quick=True, hub=hub)
    assert finding.level is Level.YELLOW
    assert "it gives no advice, and searches leave no weak match out." in in_line(finding.sentence)
    assert finding.sentence.endswith("The last attempt failed: It is broken.")


def test_a_problem_with_ollama_is_red_with_the_next_step(run: Any) -> None:
    with OllamaStub() as stub:
        missing = printed(run("doctor", "--quick", **ollama(stub.url, "all-minilm")), 1)
    assert "Ollama has no model 'all-minilm'. Run: ollama pull all-minilm" in missing
    stopped = printed(run("doctor", **ollama(stub.url)), 1)
    assert (
        f"Ollama at {stub.url} cannot be reached: nothing listens at that port. Start it with `ollama serve`" in stopped
    )


def test_a_settings_file_that_cannot_be_read_is_red(run: Any, tmp_path: Path) -> None:
    assert "✗ settings" in printed(run("doctor", LEARNING_MEMORY_CONFIG=str(tmp_path)), 1)


def test_a_key_that_was_removed_is_yellow_and_the_rest_is_checked(run: Any, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("episodes = false\n")
    shown = printed(run("doctor", "--quick"), 0)
    assert "! settings     `episodes` was removed: delete the line in" in shown
    assert "journal" in shown


def test_wrong_settings_are_red_and_unknown_ones_yellow(run: Any) -> None:
    result = printed(run("doctor", LEARNING_MEMORY_MIN_EXPERIENCES="few", LEARNING_MEMORY_QDRANT_URI="x"), 1)
    assert "✗ settings     LEARNING_MEMORY_MIN_EXPERIENCES" in result
    assert "Did you mean LEARNING_MEMORY_QDRANT_URL?" in result


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_an_engine_that_does_not_answer_is_red(run: Any) -> None:
    result = printed(run("doctor", LEARNING_MEMORY_QDRANT_URL="http://127.0.0.1:1"), 1)
    assert "✗ engine       Qdrant at 127.0.0.1:1 cannot be reached: nothing listens at that port." in result


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_url_with_a_password_is_red_and_the_password_is_not_shown(run: Any) -> None:
    result = run("doctor", LEARNING_MEMORY_QDRANT_URL="http://user:secret@127.0.0.1:1")
    assert "✗ engine       The Qdrant URL must not contain a user name or password" in printed(result, 1)
    assert "secret" not in result.output


GIB = 1024**3


# `tests/acceptance/test_full_disk.py` has a disk that is nearly full.
@pytest.mark.parametrize(
    ("free", "level", "sentence"),
    [
        (MIN_FREE_BYTES - 1, Level.RED, "64.0 MiB are free, but 64.0 MiB are needed; free some space."),
        (MIN_FREE_BYTES, Level.YELLOW, "Only 64.0 MiB are free; consider freeing some space."),
        (GIB - 1, Level.YELLOW, "Only 1.0 GiB are free; consider freeing some space."),
        (GIB, Level.GREEN, "1.0 GiB are free."),
    ],
)
def test_too_little_free_space_is_red_and_less_than_a_gibibyte_is_yellow(
    free: int, level: Level, sentence: str
) -> None:
    finding = check_space(free)
    assert (finding.level, finding.topic, finding.sentence) == (level, "disk", sentence)


def test_a_submodule_is_told_that_it_gets_nothing_of_its_superproject(
    shop: Path,
    tmp_path: Path,
    storage: Path,
    run: Any,
    write_lines: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = tmp_path / "library"
    for folder in (shop, library):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q")
        git(folder, "commit", "-q", "--allow-empty", "-m", folder.name)
    git(shop, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(library), "lib")
    outer = Claims(storage / "claims").find(shop, lambda _project: True).project
    line = Path(write_lines(old_entry(0))).read_bytes()
    entries = parse_entries([line], project=outer).entries.values()
    ObservationCollector(Journal(storage / "journal"), utc_now).add_resolved(list(entries))
    monkeypatch.chdir(shop / "lib")
    found = run("doctor", "--quick", "--json", LEARNING_MEMORY_PROJECT="")
    said = [each["sentence"] for each in json.loads(found.stdout)["findings"] if each["topic"] == "project"]
    assert any(f"{shop / 'lib'} is a submodule of {outer}, and a project of its own" in each for each in said)
