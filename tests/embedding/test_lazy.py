import threading
from time import monotonic

import pytest

from learning_memory_server.embedding.service import LazyModel
from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.errors import EmbeddingUnavailableError


async def test_a_model_is_loaded_once_in_a_thread_that_does_not_keep_the_process_alive() -> None:
    threads: list[threading.Thread] = []

    def load() -> str:
        threads.append(threading.current_thread())
        return "the model"

    model = LazyModel("test model", load, in_daemon_thread, 0)
    assert str(model.state) == "idle"
    assert await model.get() == await model.get() == "the model"
    assert str(model.state) == "ready"
    (thread,) = threads
    assert thread.daemon


class Panic(BaseException):
    """What a library written in another language raises."""


async def test_a_panic_of_a_library_ends_the_loading_too() -> None:
    def load() -> str:
        raise Panic

    model = LazyModel("test model", load, in_daemon_thread, 1000)
    with pytest.raises(Panic):
        await model.get()
    assert str(model.state) == "failed"


async def test_a_failure_names_the_model_and_the_kind_of_error() -> None:
    def load() -> str:
        raise OSError("/home/ann/secret")

    model = LazyModel("test model", load, in_daemon_thread, 1000)
    with pytest.raises(EmbeddingUnavailableError, match=r"^The test model could not be loaded \(OSError\)\.$"):
        await model.get()


async def test_a_model_that_took_long_to_fail_is_retried_after_a_longer_pause() -> None:
    attempts: list[float] = []

    def load() -> str:
        attempts.append(began := monotonic())
        while monotonic() < began + 0.1:
            pass
        raise OSError

    # Ten seconds after an attempt of a tenth of a second, although no pause is required.
    model = LazyModel("test model", load, in_daemon_thread, 0)
    for _ in range(3):
        with pytest.raises(EmbeddingUnavailableError):
            await model.get()
    assert len(attempts) == 1
