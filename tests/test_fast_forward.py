"""The loop that does not wait: the time of a test does not depend on how fast the machine is."""

import asyncio
import time

from tests.fast_forward import fast_forward


@fast_forward
async def test_a_thread_that_is_at_work_takes_no_time_though_it_pauses_when_the_loop_looks() -> None:
    def work() -> None:
        for _ in range(20):
            time.sleep(0.01)

    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(1.0):
        await asyncio.to_thread(work)
    assert asyncio.get_running_loop().time() - began < 0.1


@fast_forward
async def test_a_thread_that_waits_lets_time_pass() -> None:
    began = time.monotonic()
    waiting = asyncio.create_task(asyncio.to_thread(time.sleep, 0.3))
    await asyncio.sleep(3600)
    assert time.monotonic() - began < 60
    await waiting
