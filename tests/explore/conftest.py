"""A dask cluster of two workers on this machine, shared by the tests that need one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

# In a process of its own: its event loop would go on while other tests of the same worker run.
_CLUSTER = """
import sys, warnings
import distributed
warnings.simplefilter("ignore")
with distributed.LocalCluster(
    n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, worker_dashboard_address=None
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="package")
def scheduler() -> Iterator[str]:
    """The address of the cluster's scheduler. It ends with these tests: its processes are busy even when idle."""
    pytest.importorskip("distributed", reason="dask is not installed: pip install 'workrail-lint[distributed]'")
    with subprocess.Popen(
        [sys.executable, "-c", _CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
