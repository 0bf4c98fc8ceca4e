import pytest

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.value import ClusterId
from learning_memory_server.model.vocabulary import Axis


@pytest.mark.parametrize("axis", Axis)
@pytest.mark.parametrize("number", [0, 3, 120])
def test_an_id_reads_back_as_it_was_written(axis: Axis, number: int) -> None:
    assert ClusterId.parse(str(ClusterId(axis, number))) == ClusterId(axis, number)


def test_an_axis_with_an_underscore_keeps_it() -> None:
    assert ClusterId.parse("root_cause_3") == ClusterId(Axis.ROOT_CAUSE, 3)
    assert str(ClusterId(Axis.ROOT_CAUSE, 3)) == "root_cause_3"


def test_white_space_around_an_id_is_ignored() -> None:
    assert ClusterId.parse(" full_2\n") == ClusterId(Axis.FULL, 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "full",
        "full_",
        "_3",
        "3",
        "full_-1",
        "full_1.0",
        "full_x",
        "domain_1",
        "FULL_1",
        "root_cause",
        "full 1",
        "full_\u0661",
        "full_\u00b2",
    ],
)
def test_anything_else_is_refused_and_the_axes_are_named(text: str) -> None:
    with pytest.raises(InvalidInputError, match="full, strategy, surprise, root_cause") as caught:
        ClusterId.parse(text)

    assert repr(text) in caught.value.message
    assert caught.value.hint == "Call get_clusters to see the ids."


def test_ids_are_ordered_by_number_not_by_spelling() -> None:
    assert ClusterId(Axis.FULL, 9) < ClusterId(Axis.FULL, 10)
