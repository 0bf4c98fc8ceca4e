"""Watches the answers of a double of a Qdrant server: nobody may be given what is another's."""

from __future__ import annotations

import json
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.index.engines.double import QdrantDouble
    from tests.index.engines.double_engine import Answer

Body = dict[str, Any]
_READS = ("points/query", "points/scroll", "points/count")


class Witness:
    """Stands between a double and its collections.

    Attributes:
        wrong: What should never have been asked or answered.
        answered: How many requests of each kind were answered.
        dropping: How many requests dropped, renamed or changed a collection.
        foreign: How many points were given to somebody else.

    Args:
        double: The double.
    """

    def __init__(self, double: QdrantDouble) -> None:
        self.wrong: list[str] = []
        self.answered: Counter[str] = Counter()
        self.dropping = 0
        self.foreign = 0
        self._double = double
        self._owners: dict[tuple[str, str], str] = {}
        self._answer = double.engine.answer
        double.engine.answer = self._witnessed  # type: ignore[method-assign]

    def _witnessed(self, method: str, path: str, body: Body) -> Answer:
        answer = self._answer(method, path, body)
        _, _, name, *rest = [*path.split("/"), "", ""]
        what = "/".join(filter(None, rest))
        # The bodies of all requests would take a gigabyte.
        self._double.asked.clear()
        self.answered[f"{method} {what or 'collection'}"] += 1
        # A change of no aliases asks who may create collections, and changes nothing.
        if method in {"DELETE", "PATCH"} or ("aliases" in path and body.get("actions")):
            self.dropping += 1
            self.wrong.append(f"{method} {path}: drops or renames")
        elif (method, what) == ("PUT", "points"):
            self._look_at_written(name, body)
        elif what == "points/delete" and list(body) != ["points"]:
            self.wrong.append(f"{name}: a deletion that names no ids")
        elif (method, what) == ("POST", "points"):
            self.wrong.append(f"{name}: a read without its owner")
        elif what in _READS:
            self._look_at_read(name, body, answer)
        return answer

    def _look_at_written(self, name: str, body: Body) -> None:
        for point in body["points"]:
            owner = point["payload"]["owner"]
            if self._owners.setdefault((name, point["id"]), owner) != owner:
                self.wrong.append(f"{name}: a point was overwritten by another owner")

    def _look_at_read(self, name: str, body: Body, answer: Answer) -> None:
        condition = body["filter"]["must"][0]
        if condition.get("key") != "owner":
            self.wrong.append(f"{name}: a read without its owner")
        elif answer.status == HTTPStatus.OK:
            for point in json.loads(answer.body)["result"].get("points", ()):
                if self._owners[name, point["id"]] != condition["match"]["value"]:
                    self.foreign += 1
                    self.wrong.append(f"{name}: another's point was given")
