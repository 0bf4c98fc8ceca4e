"""What a Qdrant server does, as far as this program asks for it: the vendor's local mode behind its own REST models."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from qdrant_client import models
from qdrant_client.local.qdrant_local import QdrantLocal

_RECORDED = Path(__file__).parents[2] / "data" / "qdrant-answers.json"
_DELETED_MOST = 300
"""Deletions after which a collection is made anew: local mode looks at what is deleted in every search."""


class Answer(NamedTuple):
    """A server's answer, and the seconds after which it says to come back."""

    status: int
    body: bytes
    retry_after: str | None = None


def recorded(situation: str) -> Answer:
    """Return what a real server answered in a situation, word for word."""
    answers = json.loads(_RECORDED.read_bytes())["answers"]
    (found,) = [each for each in answers if each["situation"] == situation]
    return Answer(found["status"], found["body"].encode(), found.get("retry_after"))


def refusal(status: int, reason: str) -> Answer:
    return Answer(status, json.dumps({"status": {"error": reason}, "time": 0.000012}).encode())


def success(result: Any) -> Answer:
    return Answer(200, json.dumps({"result": result, "status": "ok", "time": 0.000012}).encode())


class Engine:
    """The collections of a server. Not for several threads at once.

    What the vendor's local mode leaves out is done as the real server does it: payload indexes, strict mode, and the
    filter that contradicts itself, which a server answers wrongly.
    """

    def __init__(self) -> None:
        # Without the client around it, which reads all of the schemas for each instance.
        self.client = QdrantLocal(location=":memory:", force_disable_check_same_thread=True)
        self._deleted: Counter[str] = Counter()
        self.indexed: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.created: dict[str, dict[str, Any]] = {}
        """The body of the request that created each collection."""

    def clear(self) -> None:
        """Lose everything, as a server does that comes back without its volume."""
        for name in self.created:
            self.client.delete_collection(name)
        self.created.clear()
        self.indexed.clear()

    def answer(self, method: str, path: str, body: Any) -> Answer:
        match path.strip("/").split("/"):
            case ["" | "cluster"]:
                return recorded("version") if path == "/" else success({"status": "disabled"})
            case ["collections", "aliases"] if body["actions"] == []:
                return success(result=True)
            case ["collections"]:
                return success(self.client.get_collections().model_dump(mode="json"))
            case ["collections", name, *rest]:
                what = "/".join(rest)
                return self._points(method, name, what, body) if what else self._collection(method, name, body)
        return recorded("path unknown")

    def _collection(self, method: str, name: str, body: Any) -> Answer:
        exists = self.client.collection_exists(name)
        if method == "PUT" and exists:
            return refusal(409, f"Wrong input: Collection `{name}` already exists!")
        if method == "PUT":
            asked = models.CreateCollection.model_validate(body)
            self.client.create_collection(name, asked.vectors, asked.sparse_vectors, metadata=asked.metadata)
            self.indexed[name], self.created[name] = {}, body
            return success(result=True)
        if not exists:
            return _missing(name)
        info = self.client.get_collection(name).model_dump(mode="json", exclude_none=True)
        schema = {field: {"data_type": kind["type"], "points": 0} for field, kind in self.indexed[name].items()}
        info["config"]["params"]["vectors"] = self.created[name]["vectors"]
        return success(info | {"payload_schema": schema})

    def _points(self, method: str, name: str, what: str, body: Any) -> Answer:
        if not self.client.collection_exists(name):
            return _missing(name)
        handlers: dict[str, Callable[[str, Any], Answer]] = {
            "PUT index": self._index,
            "PUT points": self._upsert,
            "POST points/scroll": self._scroll,
            "POST points/count": self._count,
            "POST points/delete": self._delete,
            "POST points/query": self._query,
        }
        handler = handlers.get(f"{method} {what}")
        if handler is None:
            return recorded("path unknown")
        for field in _fields(body.get("filter")):
            if field not in self.indexed[name]:
                return refusal(
                    400,
                    f'Bad request: Index required but not found for "{field}" of one of the following types: '
                    "[keyword]. Help: Create an index for this key or use a different filter.",
                )
        try:
            return handler(name, body)
        except ValueError as error:
            # The vendor's words, in the place where a server has its own.
            return refusal(400, f"Wrong input: {error}")

    def _index(self, name: str, body: Any) -> Answer:
        self.indexed[name][body["field_name"]] = body["field_schema"]
        return _completed()

    def _upsert(self, name: str, body: Any) -> Answer:
        points = models.PointsList.model_validate(body).points
        if not points:
            return recorded("full key: upsert of no points")
        self.client.upsert(name, points)
        return _completed()

    def _scroll(self, name: str, body: Any) -> Answer:
        asked = models.ScrollRequest.model_validate(body)
        found, offset = self.client.scroll(
            name,
            _as_server(asked.filter),
            limit=asked.limit or 10,
            offset=asked.offset,
            with_payload=asked.with_payload or False,
            with_vectors=asked.with_vector or False,
        )
        points = [each.model_dump(mode="json", exclude_none=True) for each in found]
        return success({"points": points, "next_page_offset": offset})

    def _count(self, name: str, body: Any) -> Answer:
        asked = models.CountRequest.model_validate(body)
        return success({"count": self.client.count(name, _as_server(asked.filter)).count})

    def _delete(self, name: str, body: Any) -> Answer:
        # Only by id: nothing else is asked for.
        points = models.PointIdsList.model_validate(body)
        self.client.delete(name, points)
        self._deleted[name] += len(points.points)
        if self._deleted[name] > _DELETED_MOST:
            self._compact(name)
        return _completed()

    def _compact(self, name: str) -> None:
        """Make a collection anew, without what is deleted."""
        points, _ = self.client.scroll(name, limit=1_000_000, with_vectors=True)
        asked = models.CreateCollection.model_validate(self.created[name])
        self.client.delete_collection(name)
        self.client.create_collection(name, asked.vectors, asked.sparse_vectors, metadata=asked.metadata)
        kept = {"id", "vector", "payload"}
        self.client.upsert(name, [models.PointStruct(**each.model_dump(include=kept)) for each in points])
        del self._deleted[name]

    def _query(self, name: str, body: Any) -> Answer:
        asked = models.QueryRequest.model_validate(body)
        query: Any = asked.query  # The schema has short forms, too, which the package does not send.
        found = self.client.query_points(
            name,
            query,
            asked.using,
            query_filter=_as_server(asked.filter),
            limit=asked.limit or 10,
            with_payload=asked.with_payload or False,
        )
        # A server leaves out points that share no term; local mode gives them a score of 0.
        points = [each for each in found.points if each.score or asked.using != "bm25"]
        return success({"points": [each.model_dump(mode="json", exclude_none=True) for each in points]})


def _missing(name: str) -> Answer:
    return refusal(404, f"Not found: Collection `{name}` doesn't exist!")


def _completed() -> Answer:
    return success({"operation_id": 1, "status": "completed"})


def _fields(where: Any) -> list[str]:
    """Return the payload fields that a filter names."""
    conditions = [each for kind in ("must", "must_not", "should") for each in (where or {}).get(kind) or ()]
    return [each["key"] for each in conditions if "key" in each]


def _as_server(where: models.Filter | None) -> models.Filter | None:
    """Return what a server makes of a filter: it overlooks an exclusion that the same filter demands."""
    if where is None or not isinstance(where.must_not, list) or not isinstance(where.must, list):
        return where
    demanded = where.must
    left = [each for each in where.must_not if each not in demanded]
    return models.Filter(must=demanded, must_not=left or None)
