from __future__ import annotations

import pytest

from tests.plugin.projects import AGENT, lamps


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with a pack of lamps and an agent that plays it."""
    lamps(pytester.path)
    pytester.makepyfile(my_agent=AGENT)
    pytester.syspathinsert()
    return pytester
