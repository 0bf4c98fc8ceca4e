from learning_memory_server.system.recent import Recent


def test_what_was_not_used_for_longest_goes_first() -> None:
    recent = Recent[str, int](2)
    recent["a"], recent["b"] = 1, 2
    assert recent["a"] == recent.of("a", int) == 1
    recent["c"] = 3
    assert dict(recent) == {"a": 1, "c": 3}


def test_what_is_asked_for_with_a_default_is_there_then() -> None:
    recent = Recent[str, list[int]]()
    recent.of("a", list).append(1)
    assert recent.of("a", list) == [1]
