"""The same sweep on a real Dask cluster, over the loopback interface, gives the same rows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import bestarm as ba

distributed = (
    pytest.importorskip("distributed", reason="the cluster extra is not installed")
    if not os.environ.get("CI")
    else None
)


@pytest.mark.filterwarnings("default")
def test_a_dask_cluster_computes_the_same_runs() -> None:
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    run: dict[str, Any] = {"means": [0.9, 0.5, 0.3], "epsilon": 1.0, "delta": 0.1, "seed": 3, "runs": 40}
    alone = [ba.simulate(name, jobs=1, **run) for name in ("dp-se", "adap-tt-published")]
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
        parallel_config(backend="dask"),
    ):
        assert len(client.scheduler_info()["workers"]) == 2
        spread = [ba.simulate(name, jobs=-1, **run) for name in ("dp-se", "adap-tt-published")]
    for one, other in zip(alone, spread, strict=True):
        assert np.array_equal(one.samples, other.samples)
        assert np.array_equal(one.per_arm, other.per_arm)
        assert np.array_equal(one.recommended, other.recommended)
