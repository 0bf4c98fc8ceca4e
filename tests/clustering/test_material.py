"""What is on an axis is what has a text for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given

from learning_memory_server.clustering.material import is_on
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.observation.documents import axis_texts
from tests.support import ghaps

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap


@given(ghaps())
def test_an_entry_is_on_the_axes_that_it_has_texts_for(entry: Ghap) -> None:
    assert {axis for axis in Axis if is_on(axis, entry)} == axis_texts(entry).keys()
