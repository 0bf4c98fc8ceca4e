"""Replies that stay within what a client reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learning_memory_server.domain import limits
from learning_memory_server.server.wire import compact

if TYPE_CHECKING:
    from collections.abc import Sequence


def page(
    key: str, items: Sequence[dict[str, Any]], *, offset: int = 0, of: int | None = None, **rest: object
) -> dict[str, Any]:
    """Return a reply with as many of the items as fit, and how to go on where there are more.

    Args:
        key: The name under which the items stand.
        items: The items of this page, in order.
        offset: How many items come before this page.
        of: How many there are in all, where that is known.
        **rest: What else the reply says; absent (None) parts are left out.

    Returns:
        `{key: [...], "count": n}` and the rest; with `total` (unless the rest has one of its own) and the
        `offset` of the next item where more items follow, and with `truncated` where this page was cut.
    """
    reply: dict[str, Any] = {name: value for name, value in rest.items() if value is not None}
    shown: list[dict[str, Any]] = []
    room = limits.REPLY_MAX - len(compact(reply)) - len(key) - _CLOSING
    for item in items:
        fitting = item if shown else fitted(item, room)
        room -= len(compact(fitting)) + 1
        if room < 0:
            break
        shown.append(fitting)
    reply |= {key: shown, "count": len(shown)}
    after = offset + len(shown)
    cut = len(shown) < len(items)
    if cut or (of is not None and after < of):
        reply = {"total": max(of or 0, offset + len(items)), **reply, "offset": after}
    if cut:
        reply["truncated"] = True
    return reply


def fitted(item: dict[str, Any], room: int) -> dict[str, Any]:
    """Return the item, without its largest parts if it needs more than `room` characters.

    The names of the parts that were left out stand in `left_out`. Lists lose their oldest elements first.
    """
    fitting = dict(item)
    left_out: dict[str, str] = {}
    while len(compact({**fitting, "left_out": left_out})) >= room and fitting:
        largest = max(fitting, key=lambda name: len(compact({name: fitting[name]})))
        part = fitting[largest]
        if isinstance(part, list) and len(part) > 1:
            fitting[largest] = part[(len(part) + 1) // 2 :]
            left_out[largest] = f"the newest {len(fitting[largest])} of {len(item[largest])} are shown"
        else:
            del fitting[largest]
            left_out[largest] = "too long for a reply"
    return {**fitting, "left_out": left_out} if left_out else fitting


_CLOSING = len('"":[],"count":100,"total":1000000000,"offset":1000000000,"truncated":true,')
