#!/usr/bin/env python3
"""torch_attention.py - times the fused attention that training will use.

    torch_attention.py attention.yaml
    mfuplan -e 'calibrate from samples.yaml attention.yaml'

FlashAttention 2, cuDNN's and CUTLASS's attention come with PyTorch, and a loop
in PyTorch runs these builds of them: this times forward and backward of each
where the GPU has it, and writes samples as mfuplan-calibrate does.  Launches
rotate through buffers larger than twice the L2 cache, queue up between two CUDA
events, and the median of repeats counts.

    torch_attention.py --device cpu --toy attention.yaml

tries the script out without a GPU.
"""
import argparse
import contextlib
import datetime
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

# mfuplan's names of the kernels.
KINDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
         "memeff": SDPBackend.EFFICIENT_ATTENTION}

# batch, heads, key and value heads, sequence, head size, causal: head sizes 64
# and 128, short to long, grouped and not, masked and not.
SHAPES = [(32, 12, 12, 512, 64, True), (16, 12, 12, 1024, 64, True), (8, 16, 16, 2048, 64, True),
          (2, 16, 16, 8192, 64, True), (32, 16, 16, 512, 64, False), (8, 32, 32, 1024, 128, True),
          (4, 32, 32, 2048, 128, True), (2, 32, 32, 4096, 128, True), (1, 32, 32, 8192, 128, True),
          (2, 32, 8, 4096, 128, True), (4, 32, 32, 2048, 128, False)]
QUICK = [SHAPES[i] for i in (1, 3, 6, 8)]
TOY = [(1, 2, 2, 64, 16, True), (1, 4, 2, 64, 16, False)]

REPEATS, LEAST_S = 15, 5e-3


class Work:
    """One shape: buffers to rotate through, laid out as a model's heads are."""

    def __init__(self, shape, device):
        batch, heads, kv_heads, seq, dim, self.causal = shape
        self.grouped = heads != kv_heads
        l2 = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0) if device == "cuda" else 0
        bytes_once = 2 * batch * seq * dim * (2 * heads + 2 * kv_heads)
        self.sets = []
        for i in range(max(1, min(16, -(-2 * l2 // bytes_once)))):
            torch.manual_seed(i)
            q, k, v = (torch.randn(batch, seq, h, dim, device=device, dtype=torch.bfloat16).transpose(1, 2)
                       .requires_grad_() for h in (heads, kv_heads, kv_heads))
            self.sets.append([q, k, v, torch.randn_like(q), None])

    def forward(self, i):
        s = self.sets[i % len(self.sets)]
        s[4] = F.scaled_dot_product_attention(*s[:3], is_causal=self.causal, enable_gqa=self.grouped)

    def backward(self, i):
        q, k, v, gradient, out = self.sets[i % len(self.sets)]
        torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)


def seconds_of(launch, n, device):
    """Of one of `n` launches in a row."""
    if device == "cpu":
        start = time.perf_counter()
        for i in range(n):
            launch(i)
        return (time.perf_counter() - start) / n
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for i in range(n):
        launch(i)
    end.record()
    end.synchronize()
    return 1e-3 * begin.elapsed_time(end) / n


def timed(launch, device, least_s):
    """Median and interquartile range over median."""
    once = min(seconds_of(launch, 4, device) for _ in range(3))
    n = max(2, min(200, int(least_s / once)))
    values = [seconds_of(launch, n, device) for _ in range(REPEATS)]
    middle, quarters = statistics.median(values), statistics.quantiles(values, n=4)
    return middle, (quarters[2] - quarters[0]) / middle


def measure(kind, shape, options):
    """Two samples, or a reason."""
    batch, heads, kv_heads, seq, dim, causal = shape
    backend = KINDS[kind] if options.device == "cuda" else SDPBackend.MATH
    rows = []
    try:
        work = Work(shape, options.device)
        with sdpa_kernel(backend):
            for name, launch in (("forward", work.forward), ("backward", work.backward)):
                if name == "backward":
                    for i in range(len(work.sets)):
                        work.forward(i)
                seconds, spread = timed(launch, options.device, LEAST_S if not options.toy else 1e-3)
                rows.append(f"probe: attention, kind: {kind}, batch: {batch}, heads: {heads}, kv_heads: {kv_heads}, "
                            f"seq: {seq}, head_dim: {dim}, causal: {int(causal)}, pass: {name}, dtype: bf16, "
                            f"seconds: {seconds:.6g}, spread: {100 * spread:.2f}%, sustained: 0")
    except (RuntimeError, torch.OutOfMemoryError) as error:
        return [], str(error).splitlines()[0][:100]
    return rows, None


def hashed(data):
    """FNV-1a of 64 bits, as mfuplan-calibrate hides a GPU's number."""
    h = 14695981039346656037
    for byte in data:
        h = (h ^ byte) * 1099511628211 % 2**64
    return f"{h:016x}"


def head(options):
    """The lines in front of the samples."""
    if options.device == "cpu":
        gpu = f'name: {options.gpu or "CPU"}, uuid_hash: ""'
    else:
        p = torch.cuda.get_device_properties(0)
        uuid = getattr(p, "uuid", None)
        gpu = (f'name: {p.name}, uuid_hash: "{hashed(bytes.fromhex(str(uuid).replace("-", ""))) if uuid else ""}", '
               f"compute_capability: {p.major}.{p.minor}, sms: {p.multi_processor_count}, memory_bytes: {p.total_memory}")
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.is_available() else ""
    return (f"# Written by torch_attention.py with PyTorch {torch.__version__}, cuDNN {cudnn}.  Seconds are medians.\n"
            f"mfuplan_samples: 1\ngpu: {{{gpu}}}\ncuda: \"{torch.version.cuda or ''}\"\n"
            f"date: {datetime.date.today().isoformat()}\n")


def write(path, text):
    """All or nothing."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "w") as f:
            f.write(text)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def main():
    parser = argparse.ArgumentParser(description="Times PyTorch's fused attention for mfuplan.")
    parser.add_argument("output", help="file of samples to write (YAML)")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--gpu", help="name of a GPU to write (with --device cpu; its samples calibrate nothing)")
    parser.add_argument("--quick", action="store_true", help="fewer shapes")
    parser.add_argument("--toy", action="store_true", help="tiny shapes, to try this script out")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch_attention.py: PyTorch finds no CUDA GPU here; `--device cpu --toy` tries the script out", file=sys.stderr)
        return 1
    shapes = TOY if options.toy else QUICK if options.quick else SHAPES
    samples, interrupted = [], False
    try:
        for kind in KINDS:
            for shape in shapes:
                rows, reason = measure(kind, shape, options)
                samples += rows
                print(f"{kind:7} {'x'.join(map(str, shape[:5]))}{' causal' if shape[5] else ''}: {reason or 'measured'}")
    except KeyboardInterrupt:
        interrupted = True                      # what was measured counts
    if not samples:
        print("torch_attention.py: nothing was measured", file=sys.stderr)
        return 1
    write(options.output, head(options) + "samples:\n" + "".join(f"  - {{{row}}}\n" for row in samples))
    return 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
