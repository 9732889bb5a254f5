"""What is said of a request that failed: of a client's mistake, a store that can't be used, and our own mistake."""

from __future__ import annotations

import logging

from server.problems import Problem, server_mistake
from server.store import Unavailable
from server.tally import COUNTED, STORE_ERRORS

RETRY_AFTER = 1  # seconds

logger = logging.getLogger("server")


def problem_of(error: Exception, what: str) -> Problem:
    """The problem to answer with; what isn't a client's doing is logged, `what` saying what failed."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Unavailable):
        COUNTED.add(STORE_ERRORS)
        logger.warning("%s: %s", what, error)
        return Problem(503, str(error), retry_after=RETRY_AFTER)
    logger.error("%s", what, exc_info=error)
    return server_mistake()
