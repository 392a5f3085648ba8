"""What tests run beside themselves: a server in a thread, a cluster of node processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import HTTPServer
from typing import TypeVar

import pytest

Server = TypeVar("Server", bound=HTTPServer)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server, answering until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def three_nodes() -> Iterator[Callable[[], None]]:
    """A Ray cluster of three nodes of one CPU, connected to; what kills one of them."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        doomed = cluster.add_node(num_cpus=1)
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield lambda: cluster.remove_node(doomed, allow_graceful=False)
    finally:
        ray.shutdown()
        cluster.shutdown()
