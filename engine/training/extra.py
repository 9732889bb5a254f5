"""NumPy and Gymnasium: what the extra `train` installs, and one sentence where it isn't."""

from __future__ import annotations

try:
    import gymnasium
    import numpy as np
except ImportError as error:
    raise ImportError(
        f"Tables and Gymnasium environments need {error.name}, which isn't installed: pip install 'deskproof[train]'",
        name=error.name,
    ) from None

__all__ = ["gymnasium", "np"]
