#!/usr/bin/env python3
"""torch_kernels.py - times the kernels that PyTorch runs, one by one, for mfuplan.

    torch_kernels.py samples.yaml
    mfuplan -e 'calibrate from samples.yaml'

A point is one operation at one size, as eager PyTorch (or torch.compile) runs it:
matrix products, attention of each backend, kernels that stream through memory,
optimizers, and the host's time per kernel.  The points that tell most come first and
the file is written after each, so Ctrl-C leaves a usable file; the same command goes
on where it stopped.  It needs PyTorch; NVML, where there is one, adds clock, power and
temperature.

    torch_kernels.py --device cpu --self-test samples.yaml

runs every point on tiny tensors, to see that all this works without a GPU.

How a point is timed: launches rotate through buffers larger than twice the L2 cache,
from a CUDA graph where they can be captured.  The GPU is held busy while the host
queues start event, launches and end event, so that the host's time is not in between.
This repeats until the interquartile range is below 1 %, or for half a second; the
median counts.
"""
import argparse
import contextlib
import ctypes
import datetime
import importlib.metadata
import math
import os
import platform
import re
import statistics
import sys
import time
from dataclasses import dataclass, field

try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ModuleNotFoundError as missing:
    print(f"torch_kernels.py: {missing.name} is missing: nothing can be measured", file=sys.stderr)
    sys.exit(1)

ROW_S = 1e-3                    # between the two events
PATIENCE_S, QUICK_PATIENCE_S = 0.5, 0.2
CALM = 0.01                     # spread that is small enough
LEAST_REPEATS, MOST_LAUNCHES, MOST_SETS = 7, 1000, 16
SETTLE_LEAST_S, SETTLE_MOST_S = 5, 15   # sustained: until clocks and power have settled
QUICK_S = 300                   # --quick ends by then
TINY = 16                       # size of a self-test
MEASURED = ", (?:read_bytes|kernels|seconds): "  # what follows the name of a point in its sample


# ---- the GPU ------------------------------------------------------------------

def cpu_name():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


class Sensors:
    """Clock, power and temperature of one GPU through NVML; silent without it."""

    class Value(ctypes.Structure):
        _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("time", ctypes.c_longlong),
                    ("latency", ctypes.c_longlong), ("type", ctypes.c_uint), ("status", ctypes.c_int),
                    ("value", ctypes.c_ulonglong)]

    INSTANT_POWER = 186

    def __init__(self, uuid):
        self.gpu = None
        with contextlib.suppress(OSError, AttributeError):
            nvml, gpu = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
            if nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}".encode(), ctypes.byref(gpu)) == 0:
                self.nvml, self.gpu = nvml, gpu

    def number(self, function, *arguments):
        x = ctypes.c_uint()
        with contextlib.suppress(AttributeError):
            if self.gpu and getattr(self.nvml, function)(self.gpu, *arguments, ctypes.byref(x)) == 0:
                return x.value
        return None

    def mode(self, function):
        """The first of a pair: now, and after a restart."""
        now, later = ctypes.c_uint(), ctypes.c_uint()
        with contextlib.suppress(AttributeError):
            if self.gpu and getattr(self.nvml, function)(self.gpu, ctypes.byref(now), ctypes.byref(later)) == 0:
                return now.value
        return None

    def free_bytes(self):
        """Of the GPU's memory; asking makes no context."""
        total_free_used = (ctypes.c_ulonglong * 3)()
        with contextlib.suppress(AttributeError):
            if self.gpu and self.nvml.nvmlDeviceGetMemoryInfo(self.gpu, total_free_used) == 0:
                return total_free_used[1]
        return None

    def power_w(self):
        """Of this moment: the plain figure is the mean of a second on newer GPUs."""
        v = self.Value(field=self.INSTANT_POWER)
        with contextlib.suppress(AttributeError):
            if self.gpu and self.nvml.nvmlDeviceGetFieldValues(self.gpu, 1, ctypes.byref(v)) == 0 and v.status == 0:
                return (v.value & 0xffffffff) / 1e3
        x = self.number("nvmlDeviceGetPowerUsage")
        return None if x is None else x / 1e3

    def read(self):
        found = {"clock_mhz": self.number("nvmlDeviceGetClockInfo", 1), "power_w": self.power_w(),
                 "temperature_c": self.number("nvmlDeviceGetTemperature", 0)}
        return {k: f"{x:.0f}" for k, x in found.items() if x is not None}

    def describe(self):
        """Driver, limit and highest clock, for the head of the file."""
        text, use = ctypes.create_string_buffer(80), (ctypes.c_uint * 2)()
        found = {}
        if not self.gpu:
            return found, None
        if self.nvml.nvmlSystemGetDriverVersion(text, 80) == 0:
            found["driver"] = f'"{text.value.decode()}"'
        for key, value in (("power_limit_w", self.number("nvmlDeviceGetEnforcedPowerLimit")),
                           ("highest_clock_mhz", self.number("nvmlDeviceGetMaxClockInfo", 1))):
            if value is not None:
                found[key] = f"{value / 1e3:.0f}" if key == "power_limit_w" else str(value)
        busy = use[0] if self.nvml.nvmlDeviceGetUtilizationRates(self.gpu, use) == 0 else None
        return found, busy


def hashed(data):
    """FNV-1a of 64 bits, as mfuplan-calibrate hides a GPU's number."""
    h = 14695981039346656037
    for byte in data:
        h = (h ^ byte) * 1099511628211 % 2**64
    return f"{h:016x}"


class Machine:
    """Where points run, and what is known about it."""

    def __init__(self, device, self_test, quick):
        self.device, self.tiny, self.quick = torch.device(device), self_test, quick
        self.cuda = self.device.type == "cuda"
        self.l2, self.room, self.sensors = 0, 1 << 30, None
        self.half, self.capability, self.uuid = "bf16", 0, ""
        versions = {"cuda": torch.version.cuda or "", "torch": torch.__version__,
                    "cudnn": torch.backends.cudnn.version() or ""}
        for package in ("nvidia-cublas", "nvidia-cublas-cu13", "nvidia-cublas-cu12"):
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                versions.setdefault("cublas", importlib.metadata.version(package))
        if self.cuda:
            torch.cuda.set_device(self.device)
            p = torch.cuda.get_device_properties(self.device)
            self.l2, self.capability = getattr(p, "L2_cache_size", 0), p.major + p.minor / 10
            self.half = "bf16" if p.major >= 8 else "fp16"
            self.room = min(0.8 * torch.cuda.mem_get_info()[0], 16 << 30)
            self.uuid = str(getattr(p, "uuid", "")).removeprefix("GPU-")
            self.name = p.name
            self.gpu = (f'{{name: "{p.name}", uuid_hash: "{hashed(bytes.fromhex(self.uuid.replace("-", "")))}", compute_capability: '
                        f"{p.major}.{p.minor}, sms: {p.multi_processor_count}, memory_bytes: {p.total_memory}}}")
        else:
            self.name, self.gpu = "CPU", '{name: CPU, uuid_hash: ""}'
        self.sensors = Sensors(self.uuid)
        found, self.busy = self.sensors.describe()
        versions.update(cpu=cpu_name(), host=platform.node())
        self.head = {"gpu": self.gpu, **{k: f'"{v}"' for k, v in versions.items()}, **found}

    def sync(self):
        if self.cuda:
            torch.cuda.synchronize()


DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}


# ---- timing -------------------------------------------------------------------

def summary(values):
    """Median, and interquartile range over it."""
    middle = statistics.median(values)
    if len(values) < 4:
        return middle, (max(values) - min(values)) / middle
    quarters = statistics.quantiles(values, n=4)
    return middle, (quarters[2] - quarters[0]) / middle


class Row:
    """Launches in a row between two events; from a CUDA graph if they can be captured."""

    def __init__(self, m, launches, capture):
        self.m, self.launches, self.graph = m, launches, None
        self.n = len(launches)
        for launch in launches[:2]:
            launch()                            # loads kernels
        m.sync()
        once = min(self.seconds() for _ in range(2))
        self.n = min(max(1, math.ceil((1e-5 if m.tiny else ROW_S) / once / self.n)) * self.n, max(MOST_LAUNCHES, self.n))
        if m.cuda and capture:
            try:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.each()
                self.graph = graph
            except RuntimeError:
                m.sync()

    def each(self):
        for i in range(self.n):
            self.launches[i % len(self.launches)]()

    def run(self):
        self.graph.replay() if self.graph else self.each()

    def seconds(self):
        """Of one launch."""
        if not self.m.cuda:
            start = time.perf_counter()
            self.run()
            return (time.perf_counter() - start) / self.n
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        # Cycles, some 2e9 a second: the host needs up to 100 us per launch.
        torch.cuda._sleep(int(2e9 * (2e-4 if self.graph else min(0.05, 1e-4 * self.n))))
        begin.record()
        self.run()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end) / self.n

    def read_sensors(self, seconds):
        """While it works."""
        if not self.m.cuda or not self.m.sensors.gpu:
            return {}
        for _ in range(min(100, math.ceil(0.03 / (seconds * self.n)))):
            self.run()
        found = self.m.sensors.read()
        self.m.sync()
        return found


def measure(m, launches, capture=True, sustained=False):
    """The timing of one launch, as fields of a sample."""
    row = Row(m, launches, capture)
    patience = 0.0 if m.tiny else QUICK_PATIENCE_S if m.quick else PATIENCE_S
    start, values = time.perf_counter(), []
    if not sustained or m.tiny:
        for _ in range(2):
            row.seconds()
        while True:
            values.append(row.seconds())
            late = time.perf_counter() - start >= patience
            if late if len(values) < LEAST_REPEATS else late or summary(values)[1] < CALM:
                break
        seconds, spread = summary(values)
        return {"seconds": f"{seconds:.6g}", "spread": f"{100 * spread:.2f}%", **row.read_sensors(seconds)}
    before = {}
    while True:
        window, values = time.perf_counter(), []
        while time.perf_counter() - window < 1:
            values.append(row.seconds())
        seconds, spread = summary(values)
        now, past = row.read_sensors(seconds), time.perf_counter() - start
        calm = all(abs(float(now[k]) - float(before.get(k, 0))) <= CALM * float(now[k]) for k in ("clock_mhz", "power_w") if k in now)
        if past > SETTLE_MOST_S or (past > SETTLE_LEAST_S and now and calm):
            return {"seconds": f"{seconds:.6g}", "spread": f"{100 * spread:.2f}%", **now}
        before = now


# ---- points -------------------------------------------------------------------

@dataclass
class Point:
    rank: int                   # 0: among the first
    fields: dict                # of the sample; they name the point
    run: object                 # (machine) -> more fields, the timing among them
    needs: object = None        # (machine) -> why not here, or None

    def name(self):
        return ", ".join(f"{k}: {v}" for k, v in self.fields.items())


def bytes_of(tensors):
    """Of all, and of 16-bit ones."""
    sizes = [(t.numel() * t.element_size(), t.element_size() == 2) for t in tensors if isinstance(t, torch.Tensor)]
    return sum(b for b, _ in sizes), sum(b for b, half in sizes if half)


def sets_of(m, bytes_once):
    """Buffers to rotate through."""
    if bytes_once > m.room:
        raise torch.OutOfMemoryError(f"{bytes_once / 1e9:.1f} GB do not fit into the GPU's memory")
    return max(1, min(MOST_SETS, 2 * m.l2 // max(1, int(bytes_once)) + 1, int(m.room // max(1, bytes_once))))


def rotating(operation, arguments):
    """A launch per set of arguments; each keeps its result, so that results rotate, too."""
    kept = [None] * len(arguments)

    def launch_of(i):
        def launch():
            kept[i] = operation(*arguments[i])
        return launch
    return [launch_of(i) for i in range(len(arguments))]


@dataclass
class Stream:
    """One call of a kernel that streams: what it is, and its traffic where that is not
    arguments in, result out."""
    operation: object
    arguments: tuple
    read: float = None
    launches: int = 1
    reread: float = 0           # bytes of later passes over rows
    half: bool = True           # 16-bit loads of four elements, as eager kernels have
    more: dict = field(default_factory=dict)


def run_stream(make, rows, columns, dtype):
    def run(m):
        shape = (TINY, 8 * TINY) if m.tiny else (rows, columns)
        first = make(m, *shape, DTYPES[dtype])
        result = first.operation(*first.arguments)
        results = result if isinstance(result, (tuple, list)) else (result,)
        read, half_read = bytes_of(first.arguments)
        if first.read is not None:
            half_read, read = half_read * first.read / max(read, 1), first.read
        write, half_written = bytes_of(results)
        sets = sets_of(m, bytes_of(first.arguments)[0] + write)
        del result, results
        calls = [first] + [make(m, *shape, DTYPES[dtype]) for _ in range(sets - 1)]
        timing = measure(m, rotating(first.operation, [c.arguments for c in calls]))
        traffic = {"read_bytes": int(read), "write_bytes": int(write), "launches": first.launches}
        if first.half and half_read + half_written > 0:
            traffic["half_share"] = f"{(half_read + half_written) / (read + write):.4g}"
        if first.reread:
            traffic["reread_bytes"] = int(first.reread)
        return {**traffic, **first.more, **timing}
    return run


def randn(m, *shape, dtype=torch.float32):
    return torch.randn(*shape, device=m.device).to(dtype)


def add(m, rows, columns, dtype):
    return Stream(torch.add, (randn(m, rows, columns, dtype=dtype), randn(m, rows, columns, dtype=dtype)))


def gelu(m, rows, columns, dtype):
    return Stream(lambda x: F.gelu(x, approximate="tanh"), (randn(m, rows, columns, dtype=dtype),))


def gelu_backward(m, rows, columns, dtype):
    return Stream(lambda g, x: torch.ops.aten.gelu_backward(g, x, approximate="tanh"),
                  (randn(m, rows, columns, dtype=dtype), randn(m, rows, columns, dtype=dtype)))


def broadcast(m, rows, columns, dtype):
    return Stream(torch.mul, (randn(m, rows, columns, dtype=dtype), randn(m, rows, 1, dtype=dtype)))


def cast_down(m, rows, columns, dtype):
    return Stream(lambda x: x.to(dtype), (randn(m, rows, columns),))


def cast_up(m, rows, columns, dtype):
    return Stream(lambda x: x.float(), (randn(m, rows, columns, dtype=dtype),))


def transpose(m, rows, columns, dtype):
    """As heads are laid out for attention: tokens x heads x 64 to heads x tokens x 64."""
    return Stream(lambda x: x.view(rows, -1, 64).transpose(0, 1).contiguous(), (randn(m, rows, columns, dtype=dtype),))


def clone(m, rows, columns, dtype):
    return Stream(torch.clone, (randn(m, rows, columns, dtype=dtype),))


def dropout(m, rows, columns, dtype):
    return Stream(lambda x: torch.native_dropout(x, 0.1, True), (randn(m, rows, columns, dtype=dtype),))


def column_sum(m, rows, columns, dtype):
    return Stream(lambda x: x.sum(0), (randn(m, rows, columns, dtype=dtype),))


def layer_norm(m, rows, columns, dtype):
    w, b = (randn(m, columns, dtype=dtype) for _ in range(2))
    return Stream(lambda x: torch.ops.aten.native_layer_norm(x, [columns], w, b, 1e-5), (randn(m, rows, columns, dtype=dtype),))


def norm_gradient(mask, launches):
    def make(m, rows, columns, dtype):
        x, g = (randn(m, rows, columns, dtype=dtype) for _ in range(2))
        w, b = (randn(m, columns, dtype=dtype) for _ in range(2))
        _, mean, scale = torch.ops.aten.native_layer_norm(x, [columns], w, b, 1e-5)
        return Stream(lambda *a: torch.ops.aten.native_layer_norm_backward(a[0], a[1], [columns], a[2], a[3], w, b, mask),
                      (g, x, mean, scale), launches=launches)
    return make


def rms_norm(m, rows, columns, dtype):
    w = randn(m, columns, dtype=dtype)
    if not hasattr(torch.ops.aten, "_fused_rms_norm"):
        raise NotImplementedError("this PyTorch composes RMSNorm of several kernels")
    return Stream(lambda x: torch.ops.aten._fused_rms_norm(x, [columns], w, 1e-5), (randn(m, rows, columns, dtype=dtype),))


def softmax(m, rows, columns, dtype):
    return Stream(lambda x: torch.ops.aten._softmax(x, -1, False), (randn(m, rows, columns, dtype=dtype),))


def softmax_backward(m, rows, columns, dtype):
    x, y = randn(m, rows, columns, dtype=dtype), torch.softmax(randn(m, rows, columns, dtype=dtype), -1)
    return Stream(lambda g, p: torch.ops.aten._softmax_backward_data(g, p, -1, dtype), (x, y))


def log_softmax(m, rows, columns, dtype):
    x = randn(m, rows, columns, dtype=dtype)
    return Stream(lambda a: torch.ops.aten._log_softmax(a, -1, False), (x,), reread=2 * bytes_of([x])[0])


def log_softmax_backward(m, rows, columns, dtype):
    g, y = randn(m, rows, columns, dtype=dtype), torch.log_softmax(randn(m, rows, columns, dtype=dtype), -1)
    return Stream(lambda a, p: torch.ops.aten._log_softmax_backward_data(a, p, -1, dtype), (g, y),
                  reread=2 * bytes_of([g])[0])


VOCABULARY = 50304


def embedding(m, rows, columns, dtype):
    table = randn(m, TINY if m.tiny else VOCABULARY, columns, dtype=dtype)
    index = torch.randint(table.shape[0], (rows,), device=m.device)
    return Stream(F.embedding, (index, table), read=rows * (8 + columns * table.element_size()), half=False)


def embedding_backward(m, rows, columns, dtype):
    words = TINY if m.tiny else VOCABULARY
    index = torch.randint(words, (rows,), device=m.device)
    g = randn(m, rows, columns, dtype=dtype)
    return Stream(lambda a: torch.ops.aten.embedding_dense_backward(a, index, words, -1, False), (g,), launches=6)


def compiled(function, inputs):
    """Of torch.compile, one kernel; the backend on a CPU is one that needs no compiler."""
    def make(m, rows, columns, dtype):
        arguments = tuple(randn(m, rows, columns, dtype=dtype) for _ in range(inputs))
        fused = torch.compile(function, backend="inductor" if m.cuda else "aot_eager", dynamic=False)
        return Stream(fused, arguments, half=False)
    return make


def gelu_residual(x, y):
    return F.gelu(x, approximate="tanh") + y


def residual_norm(x, y):
    return F.layer_norm(x + y, x.shape[-1:])


def norm_backward(g, x):
    _, mean, scale = torch.ops.aten.native_layer_norm(x[:1], x.shape[-1:], None, None, 1e-5)
    mean, scale = mean.expand(x.shape[0], 1), scale.expand(x.shape[0], 1)
    return torch.ops.aten.native_layer_norm_backward(g, x, x.shape[-1:], mean, scale, None, None, [True, False, False])[0]


ROWS = [(8192, 4096), (8192, 768), (32768, 1024), (2048, 8192), (1024, 768)]
LOGITS = [(4096, VOCABULARY), (2048, 32000)]
SCORES = [(49152, 2048), (98304, 512)]
FP32 = "fp32"
# rank of the first size, probe, kind, pass, sizes, dtypes, how, more fields
STREAMS = [
    (0, "pointwise", "add", "", ROWS, ("half", FP32), add),
    (1, "pointwise", "gelu", "", ROWS[:3], ("half",), gelu),
    (1, "pointwise", "gelu", "backward", ROWS[:3], ("half",), gelu_backward),
    (0, "irregular", "broadcast", "", ROWS[:3], ("half", FP32), broadcast),
    (0, "irregular", "cast_down", "", ROWS[:3], ("half",), cast_down),
    (1, "irregular", "cast_up", "", ROWS[:3], ("half",), cast_up),
    (1, "irregular", "transpose", "", ROWS[:3], ("half",), transpose),
    (1, "pointwise", "clone", "", ROWS[:3], ("half", FP32), clone),
    (1, "dropout", "rows", "", ROWS[:3], ("half", FP32), dropout),
    (0, "reduction", "column_sum", "", ROWS[:3], ("half", FP32), column_sum),
    (0, "norm", "layer", "forward", ROWS[:4], ("half", FP32), layer_norm),
    (0, "norm", "layer", "backward", ROWS[:4], ("half", FP32), norm_gradient([True, False, False], 1)),
    (1, "reduction", "norm_weights", "", ROWS[:3], ("half",), norm_gradient([False, True, True], 2)),
    (1, "norm", "rms", "forward", ROWS[:3], ("half",), rms_norm),
    (0, "softmax", "rows", "forward", SCORES, ("half",), softmax),
    (1, "softmax", "rows", "backward", SCORES, ("half",), softmax_backward),
    (0, "cross_entropy", "log_softmax", "forward", LOGITS, (FP32, "half"), log_softmax),
    (1, "cross_entropy", "log_softmax", "backward", LOGITS, (FP32, "half"), log_softmax_backward),
    (0, "embedding", "gather", "forward", ROWS[:3], (FP32, "half"), embedding),
    (1, "embedding", "scatter", "backward", ROWS[:3], (FP32,), embedding_backward),
    (0, "compiled", "gelu_residual", "", ROWS, ("half", FP32), compiled(gelu_residual, 2)),
    (1, "compiled", "residual_norm", "", ROWS[:3], ("half",), compiled(residual_norm, 2)),
    (1, "compiled", "norm", "backward", ROWS[:3], ("half",), compiled(norm_backward, 2)),
]


def stream_points(m):
    for rank, probe, kind, which, sizes, dtypes, make in STREAMS:
        for dtype in dtypes:
            dtype = m.half if dtype == "half" else dtype
            for i, (rows, columns) in enumerate(sizes):
                fields = {"probe": probe, "kind": kind, "rows": rows, "columns": columns, "dtype": dtype, "by": "torch"}
                if which:
                    fields["pass"] = which
                yield Point(rank + (i > 0) + (dtype == FP32), fields, run_stream(make, rows, columns, dtype))


# m, n, k of products: of layers, a sweep in each direction, rows that are no multiple of 16 bytes.
PRODUCTS = [(8192, 8192, 8192), (8192, 4096, 4096), (8192, 3072, 768), (8192, 50304, 768), (4096, 14336, 4096),
            (2048, 2048, 2048), (8192, 768, 3072), (1024, 4096, 4096), (1024, 1024, 1024), (4096, 4096, 512), (8192, 2304, 768),
            (512, 4096, 4096), (256, 4096, 14336), (768, 3072, 8192), (4096, 4096, 16384), (8192, 50257, 768)]


def run_product(size, dtype, layout, sustained):
    def run(m):
        a_rows, columns, inner = [TINY + 16] * 3 if m.tiny else size
        bytes_once = (2 if dtype == m.half else 4) * (a_rows * inner + columns * inner + a_rows * columns)

        def make():
            a = randn(m, inner, a_rows, dtype=DTYPES.get(dtype, torch.float32)).t() if layout == "NT" else randn(
                m, a_rows, inner, dtype=DTYPES.get(dtype, torch.float32))
            b = randn(m, inner, columns, dtype=DTYPES.get(dtype, torch.float32)) if layout != "TN" else randn(
                m, columns, inner, dtype=DTYPES.get(dtype, torch.float32)).t()
            if dtype == "fp8":
                return a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
            return a, b
        one = torch.ones((), device=m.device)
        product = torch.mm if dtype != "fp8" else (
            lambda a, b: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=m.cuda))
        sets = [make() for _ in range(sets_of(m, bytes_once))]
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        return measure(m, rotating(product, sets), sustained=sustained)
    return run


def product_points(m):
    def point(rank, size, dtype, layout="TN", sustained=False):
        fields = {"probe": "gemm", "dtype": dtype, "m": size[0], "n": size[1], "k": size[2], "layout": layout, "by": "torch"}
        if sustained:
            fields["sustained"] = 1
        least = {"fp8": 8.9, "tf32": 8.0}.get(dtype, 0)
        return Point(rank, fields, run_product(size, dtype, layout, sustained),
                     lambda m: f"needs compute capability {least}" if m.cuda and m.capability < least else None)
    for i, size in enumerate(PRODUCTS):
        yield point(0 if i < 6 else 1, size, m.half)
        if i in (1, 2, 4, 10):                  # the gradients of the same layer
            yield point(1, (size[0], size[2], size[1]), m.half, "NN")
            yield point(1, (size[1], size[2], size[0]), m.half, "NT")
    yield point(1, PRODUCTS[0], m.half, sustained=True)
    yield point(2, PRODUCTS[2], m.half, sustained=True)
    for dtype in ("tf32", "fp32", "fp8"):
        for i, size in enumerate(PRODUCTS[:4]):
            yield point(1 + (i > 1), size, dtype)


# batch, heads, key and value heads, sequence, head size, causal.
ATTENTION = [(4, 32, 32, 2048, 128, True), (16, 12, 12, 1024, 64, True), (1, 32, 32, 8192, 128, True),
             (2, 16, 16, 8192, 64, True), (32, 12, 12, 512, 64, True), (2, 32, 8, 4096, 128, True),
             (4, 32, 32, 2048, 128, False), (8, 16, 16, 2048, 64, False), (8, 32, 32, 512, 128, True)]
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION,
            "memeff": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH}


def run_attention(kind, shape, backward):
    def run(m):
        batch, heads, kv_heads, seq, dim, causal = (1, 4, 2 if shape[1] != shape[2] else 4, TINY, 8, shape[5]) if m.tiny else shape
        grouped = heads != kv_heads
        pairs = batch * heads * seq * seq * 6 if kind == "math" else 0
        sets, kept = [], []
        for _ in range(sets_of(m, 4 * batch * seq * dim * (heads + kv_heads) + pairs)):
            q, k, v = (torch.randn(batch, seq, h, dim, device=m.device, dtype=DTYPES[m.half]).transpose(1, 2).requires_grad_()
                       for h in (heads, kv_heads, kv_heads))
            sets.append((q, k, v))

        def forward(q, k, v):
            if grouped and kind == "memeff":    # it has no groups
                k, v = (x.repeat_interleave(heads // kv_heads, 1) for x in (k, v))
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped and kind != "memeff")

        with sdpa_kernel(BACKENDS[kind] if m.cuda else SDPBackend.MATH):
            if not backward:
                return measure(m, rotating(forward, sets))
            for q, k, v in sets:
                out = forward(q, k, v)
                kept.append((out, (q, k, v), torch.randn_like(out)))
            return measure(m, rotating(lambda out, inputs, g: torch.autograd.grad(out, inputs, g, retain_graph=True), kept),
                           capture=False)
    return run


def attention_points(m):
    for kind in BACKENDS:
        for i, shape in enumerate(ATTENTION):
            if kind == "math" and shape[3] > 2048 or kind == "memeff" and shape[1] != shape[2]:
                continue                        # the scores would not fit; expanding is a kernel of its own
            for which in ("forward", "backward"):
                fields = {"probe": "attention", "kind": kind, "batch": shape[0], "heads": shape[1], "kv_heads": shape[2],
                          "seq": shape[3], "head_dim": shape[4], "causal": int(shape[5]), "pass": which, "dtype": m.half,
                          "by": "torch"}
                rank = 0 if i < 2 and kind == "flash" else 1 if i < 4 and kind != "math" else 2
                yield Point(rank, fields, run_attention(kind, shape, which == "backward"))


# Elements read and written per parameter, and launches for n parameters in t tensors, as optimizer.h counts them.
CHUNK = 320 * 65536
OPTIMIZERS = {"fused": (4, 3, lambda n, t: 1 + -(-n // CHUNK)), "foreach": (10, 6, lambda n, t: 10 * (1 + -(-n // CHUNK))),
              "loop": (10, 6, lambda n, t: 12 * t)}


def run_optimizer(kind, elements, tensors):
    def run(m):
        n = TINY * TINY if m.tiny else elements
        read, write, launches = OPTIMIZERS.get(kind, (0, 0, lambda n, t: t))
        bytes_read, bytes_written = (4 * read * n, 4 * write * n) if read else ((8 + 2 * (1 + 4 / 256)) * n, (4 + 2 * (1 + 4 / 256)) * n)
        if 20 * n > m.room:
            raise torch.OutOfMemoryError("it does not fit into the GPU's memory")
        parameters = [nn.Parameter(torch.randn(n // tensors, device=m.device)) for _ in range(tensors)]
        for p in parameters:
            p.grad = torch.randn_like(p)
        if kind == "8bit":
            import bitsandbytes
            optimizer = bitsandbytes.optim.AdamW8bit(parameters)
        else:
            optimizer = torch.optim.AdamW(parameters, fused=kind == "fused", foreach=kind == "foreach")
        timing = measure(m, [optimizer.step], capture=False)
        return {"read_bytes": int(bytes_read), "write_bytes": int(bytes_written), "launches": launches(n, tensors), **timing}
    return run


def optimizer_points(m):
    for rank, kind in ((0, "fused"), (1, "foreach"), (2, "loop"), (2, "8bit")):
        for i, elements in enumerate((1 << 26, 1 << 27)):
            fields = {"probe": "adamw", "kind": kind, "rows": 1, "columns": elements, "dtype": FP32, "by": "torch"}
            yield Point(rank + i, fields, run_optimizer(kind, elements, 4))


# ---- the host -----------------------------------------------------------------

class Block(nn.Module):
    """A feed-forward block: norm, product, activation, product, residual."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def kernels_of(m, work, otherwise):
    """How many kernels that launches, by PyTorch's profiler."""
    if not m.cuda:
        return otherwise
    from torch.profiler import ProfilerActivity, profile
    m.sync()
    with profile(activities=[ProfilerActivity.CUDA]) as p:
        work()
        m.sync()
    return sum(e.device_type == torch.autograd.DeviceType.CUDA for e in p.events()) or otherwise


def run_host(what):
    """Host time per kernel: small tensors, so that the GPU waits for the host."""
    def run(m):
        blocks, width = (2, 8) if m.tiny else (24, 64)
        model = nn.Sequential(*(Block(width) for _ in range(blocks))).to(m.device)
        x, values = randn(m, 8, width).requires_grad_(), []
        forward = model if what != "compile" else torch.compile(model, backend="inductor" if m.cuda else "aot_eager", dynamic=False)
        kernels = None
        for _ in range(3):
            forward(x).sum().backward()
        for _ in range(3 if m.tiny else 30):
            model.zero_grad(set_to_none=True)
            m.sync()
            start = time.perf_counter()
            out = forward(x)
            middle = time.perf_counter()
            loss = out.sum()
            m.sync()
            if kernels is None and what == "backward":
                kernels = kernels_of(m, loss.backward, 9 * blocks)
                continue
            before = time.perf_counter()
            loss.backward()
            after = time.perf_counter()
            values.append(after - before if what == "backward" else middle - start)
        kernels = kernels or kernels_of(m, lambda: forward(x), 5 * blocks)
        seconds, spread = summary([v / kernels for v in values])
        return {"kernels": kernels, "seconds": f"{seconds:.6g}", "spread": f"{100 * spread:.2f}%"}
    return run


def run_graph(m):
    """A kernel of a CUDA graph, next to nothing itself."""
    x = torch.zeros(32, device=m.device)
    return {"kernels": 1, **measure(m, [lambda: x.add_(1)])}


def host_points(m):
    for rank, kind, run in ((0, "eager", run_host("eager")), (0, "backward", run_host("backward")),
                            (1, "compile", run_host("compile")), (1, "graph", run_graph)):
        yield Point(rank, {"probe": "launch", "kind": kind, "by": "torch"}, run)


def allocation(m):
    """Seconds of the allocator: a hit of its cache, a new segment, and giving all back."""
    def seconds(work, n):
        start = time.perf_counter()
        for _ in range(n):
            work()
        return (time.perf_counter() - start) / n
    if not m.cuda:
        return {"cached_s": f"{seconds(lambda: torch.empty(1 << 20), 100):.3g}"}
    torch.cuda.empty_cache()
    kept, size = [], 64 << 20
    new = seconds(lambda: kept.append(torch.empty(size, dtype=torch.uint8, device=m.device)), 8)
    del kept[:]
    cached = seconds(lambda: torch.empty(size, dtype=torch.uint8, device=m.device), 100)
    return {"cached_s": f"{cached:.3g}", "new_64mib_s": f"{new:.3g}", "empty_8_s": f"{seconds(torch.cuda.empty_cache, 1):.3g}"}


# ---- the file -----------------------------------------------------------------

def head_text(m, allocator):
    lines = [f"# Written by torch_kernels.py with PyTorch {torch.__version__}.  Seconds are medians, of one launch.",
             "mfuplan_samples: 1", *(f"{k}: {v}" for k, v in m.head.items()), f"date: {datetime.date.today().isoformat()}"]
    if allocator:
        lines.append("allocation: {" + ", ".join(f"{k}: {v}" for k, v in allocator.items()) + "}")
    return "\n".join(lines) + "\nsamples:\n"


def write(path, text):
    """All or nothing."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(beside, "w") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.replace(beside, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def read_back(path, m):
    """The samples of an earlier run; a sentence if they are of something else."""
    try:
        with open(path) as f:
            lines = f.read().splitlines()
    except FileNotFoundError:
        return [], None
    for key in ("gpu", "torch", "driver"):
        if key in m.head and f"{key}: {m.head[key]}" not in lines:
            return [], f"{path} has samples of another GPU, driver or PyTorch: name another file, or remove it"
    return [line[5:-1] for line in lines if line.startswith("  - {") and line.endswith("}")], None


GROUPS = {"products": product_points, "attention": attention_points, "streams": stream_points, "optimizers": optimizer_points,
          "host": host_points}


def all_points(m, only=GROUPS):
    points = [p for name in only for p in GROUPS[name](m)]
    return sorted(points, key=lambda p: p.rank)         # stable: best first


def measure_all(m, points, path, rows):
    """0, or 1 when the GPU was lost; what was measured is in the file."""
    done, start, allocator = {re.split(MEASURED, row)[0] for row in rows}, time.perf_counter(), {}
    left = [p for p in points if p.name() not in done]
    if len(left) < len(points):
        print(f"{len(points) - len(left)} of {len(points)} points are in {path} already")
    for i, p in enumerate(left):
        if m.quick and time.perf_counter() - start > QUICK_S:
            break
        reason = p.needs(m) if p.needs else None
        found = {}
        try:
            if not reason:
                found = p.run(m)
        except (RuntimeError, NotImplementedError, ImportError, torch.OutOfMemoryError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0][:100]
        if found:
            rows.append(f"{p.name()}, " + ", ".join(f"{k}: {v}" for k, v in found.items()))
            write(path, head_text(m, allocator) + "".join(f"  - {{{row}}}\n" for row in rows))
        each = (time.perf_counter() - start) / (i + 1)
        print(f"{i + 1}/{len(left)} {each * (len(left) - i - 1):.0f} s left  {p.name()}: {reason or found['seconds'] + ' s'}",
              flush=True)
        try:
            m.sync()
            if m.cuda:
                torch.cuda.empty_cache()
        except RuntimeError as error:
            print(f"torch_kernels.py: the GPU is lost ({str(error).splitlines()[0]}); what was measured is in {path}", file=sys.stderr)
            return 1
        if m.tiny and not found and not (reason and "bitsandbytes" in reason):
            print(f"torch_kernels.py: {p.name()}: {reason}", file=sys.stderr)
            return 1
    if rows and left:
        allocator.update(allocation(m))
        write(path, head_text(m, allocator) + "".join(f"  - {{{row}}}\n" for row in rows))
    return 0


def device_of(name):
    """"1" and "cuda:1" are the same."""
    return f"cuda:{name}" if name.isdigit() else name


def main():
    parser = argparse.ArgumentParser(description="Times PyTorch's kernels for mfuplan.")
    parser.add_argument("output", nargs="?", default="mfuplan-samples.yaml", help="file of samples (YAML); it is gone on with")
    parser.add_argument("--device", default="cuda", type=device_of, help="cuda, a number, or cpu")
    parser.add_argument("--quick", action="store_true", help="the first two ranks of points, at most 5 minutes")
    parser.add_argument("--only", action="append", choices=GROUPS, help="points of this group, of several where it is said again")
    parser.add_argument("--self-test", action="store_true", help="every point on tiny tensors; calibrates nothing")
    parser.add_argument("--list", action="store_true", help="name the points in their order")
    options = parser.parse_args()
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        print("torch_kernels.py: PyTorch finds no CUDA GPU here; `--device cpu --self-test` tries the script out", file=sys.stderr)
        return 1
    if options.device == "cpu" and not (options.self_test or options.list):
        print("torch_kernels.py: a CPU is not what training runs on; `--self-test` tries the script out", file=sys.stderr)
        return 1
    m = Machine(options.device, options.self_test, options.quick)
    points = [p for p in all_points(m, options.only or GROUPS) if not options.quick or p.rank < 2]
    if options.list:
        for p in points:
            print(p.name())
        return 0
    print(", ".join(f"{k} {v}" for k, v in m.head.items()))
    if m.busy and m.busy > 10:
        print(f"torch_kernels.py: something else keeps this GPU {m.busy} % busy: the times will be too long", file=sys.stderr)
    rows, problem = read_back(options.output, m)
    if problem:
        print(f"torch_kernels.py: {problem}", file=sys.stderr)
        return 1
    try:
        status = measure_all(m, points, options.output, rows)
    except KeyboardInterrupt:
        print(f"\ninterrupted: {len(rows)} samples are in {options.output}; the same command goes on")
        return 130
    if not rows:
        print("torch_kernels.py: nothing was measured", file=sys.stderr)
        return 1
    print(f"{len(rows)} samples in {options.output}")
    return status


if __name__ == "__main__":
    sys.exit(main())
