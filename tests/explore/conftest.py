"""A dask cluster of two workers on this machine, shared by the tests that need one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package")
def scheduler() -> Iterator[str]:
    """The address of the cluster's scheduler. It ends with these tests: its processes are busy even when idle."""
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the machine, and the libraries' own
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, worker_dashboard_address=None
        ) as cluster:
            yield cluster.scheduler_address
