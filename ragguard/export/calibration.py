"""How clearly a passage that states a response raises its likelihood under an exported model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ragguard.attribution.ragorigin.support import STATING_GAIN, SupportMeter
from ragguard.export.parity import BlameScope
from ragguard.proxy.base import Proxy

_LEAST_PARTED = 0.5  # share of planted passages above the parting gain, less that of the others


def power_of_gains(proxy: Proxy, scopes: Sequence[BlameScope]) -> float:
    """Return the `gain_power` of a proxy that has none yet, in (0, 1].

    In the scopes with something planted, the gain that best parts planted passages from the others
    (Youden's index; of equally good ones their middle) becomes the gain from which attribution
    takes a passage to state the response. A proxy that hardly parts them keeps 1.

    Raises:
        ProxyError: The proxy's scores are not finite.
    """
    gains, planted = [], []
    for scope in scopes:
        if any(scope.planted):
            gains.append(SupportMeter(proxy, scope.query, scope.response).gains(scope.passages))
            planted.append(scope.planted)
    if not gains:
        return 1.0
    found, ours = np.concatenate(gains), np.concatenate(planted)
    values = np.unique(found)
    between = (values[1:] + values[:-1]) / 2.0
    parted = np.array([(found[ours] > t).mean() - (found[~ours] > t).mean() for t in between])
    if not parted.size or parted.max() < _LEAST_PARTED:
        return 1.0
    parting = float(np.median(between[parted >= parted.max()]))
    return round(min(1.0, math.log(STATING_GAIN) / math.log(parting)), 3)
