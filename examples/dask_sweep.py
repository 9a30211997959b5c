#!/usr/bin/env python3
"""A sweep over the workers of a Dask cluster: which card and batch train Llama 3 8B fastest on eight GPUs.

    dask_sweep.py [SCHEDULER]          tcp://host:8786; without one, two workers on this machine

The rows are those of one process, in the same order: the library computes them, Dask carries them.
"""
import sys

import mfuplan
from dask.distributed import Client, LocalCluster

SWEEP = dict(model="llama-3-8b", gpu=["a100-80gb-sxm", "h100-sxm", "h200"], gpus=8, zero=3, batch=[1, 2, 4, 8],
             checkpoint=["none", "selective", "full"], columns=["tokens_per_s", "mfu", "smi_used_bytes"], where="fits",
             best=5, simulated=True)


def main(scheduler=None):
    cluster = scheduler or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with Client(cluster) as client:
        rows = mfuplan.sweep(client=client, **SWEEP)
    if not scheduler:
        cluster.close()
    for row in rows:
        print(f"{row['gpu']:14} batch {row['batch']} checkpoint {row['checkpoint']:10} "
              f"{row['tokens_per_s']:8.0f} tokens/s  MFU {100 * row['mfu']:.1f} %  {row['smi_used_bytes'] / 2**30:.1f} GiB")
    return rows


if __name__ == "__main__":
    main(*sys.argv[1:2])
