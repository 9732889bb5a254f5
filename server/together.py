"""Steps that come at the same time are taken together: a durable store then writes once for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from server import body, http
from server.failures import problem_of
from server.problems import Problem
from server.service import Caller, Service

Waiting = tuple[http.Request, "asyncio.Future[http.Answer]"]


class Together:
    """Gathers the steps of one turn of the event loop. Each is answered as if it had come alone."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: list[Waiting] = []

    async def step(self, request: http.Request) -> http.Answer:
        """The answer to POST /step."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[http.Answer] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._take)
        self._waiting.append((request, future))
        return await future

    def _take(self) -> None:
        waiting, self._waiting = self._waiting, []
        for (_, future), answer in zip(waiting, answers(self._service, [one for one, _ in waiting]), strict=True):
            if not future.done():  # whoever asked may be gone
                future.set_result(answer)


def answers(service: Service, requests: Sequence[http.Request]) -> list[http.Answer]:
    """The answers to several steps; those of one caller, each of another episode, are stored as one change."""
    if len(requests) > 1 and len({request.owner for request in requests}) == 1:
        try:
            bodies = [body.decode(request.body) for request in requests]
            together = service.steps_encoded(bodies, Caller(owner=requests[0].owner))
        except Exception as error:
            if not isinstance(error, Problem):  # whether the store took them isn't known: not tried again
                return [http.refuse(problem_of(error, "steps failed"))] * len(requests)
            together = None
        if together is not None:
            return [http.Answer(200, b"".join(pieces)) for pieces in together]
    return [http.respond(service, http.HOT[http.STEP], request) for request in requests]
