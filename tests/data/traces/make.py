"""Traces of two optimizer steps of a small GPT-2, as torch.profiler writes them.

    python tests/data/traces/make.py tests/data/traces

cpu.json is recorded on the CPU; only fields that nobody reads are left out.  gpu.json is the
same with each operation that does work launched on a GPU: events and fields are those of
kineto (libkineto/src/output_json.cpp, CuptiActivity.cpp at 002d9919), times are made up: a
kernel takes 20 us, the host 10 us a launch, and there are gaps of known causes: 3 ms of a data
loader, 1 ms of synchronising, 2 ms of a late host, and 0.5 ms of an NCCL kernel beside no other.
"""
import json, sys, tempfile, os
import torch, torch.nn as nn, torch.nn.functional as F
from torch.profiler import profile, schedule, ProfilerActivity

torch.manual_seed(0)
torch.set_num_threads(1)
L, H, C, T, V, B = 1, 2, 64, 64, 128, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(C, bias=False), nn.LayerNorm(C, bias=False)
        self.qkv, self.proj = nn.Linear(C, 3 * C, bias=False), nn.Linear(C, C, bias=False)
        self.up, self.down = nn.Linear(C, 4 * C, bias=False), nn.Linear(4 * C, C, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.ln_1(x)).split(C, dim=2)
        q, k, v = (y.view(B, T, H, C // H).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.down(F.gelu(self.up(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, C), nn.Embedding(T, C)
        self.blocks, self.ln_f = nn.ModuleList(Block() for _ in range(L)), nn.LayerNorm(C, bias=False)
        self.head = nn.Linear(C, V, bias=False)
        self.wte.weight = self.head.weight

    def forward(self, x, y):
        h = self.wte(x) + self.wpe(torch.arange(T))
        for b in self.blocks:
            h = b(h)
        return F.cross_entropy(self.head(self.ln_f(h)).view(-1, V), y.view(-1))


def record():
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    data = torch.utils.data.DataLoader(torch.randint(0, V, (16, T)), batch_size=B)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, schedule=schedule(wait=0, warmup=1, active=2, repeat=1)) as p:
        for i, x in enumerate(data):
            model(x, x).backward()
            optimizer.step()
            optimizer.zero_grad()
            p.step()
            if i == 2:
                break
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        p.export_chrome_trace(path)
        return json.load(open(path))


KEPT = {"External id", "Input Dims", "Input type"}


def slim(trace):
    events = []
    for e in trace["traceEvents"]:
        if e.get("ph") == "X" and e.get("cat") in ("cpu_op", "user_annotation") and e["name"] not in ("aten::as_strided", "aten::resolve_conj"):
            e = dict(e, args={k: v for k, v in e.get("args", {}).items() if k in KEPT})
            events.append(e)
    return dict(schemaVersion=trace["schemaVersion"], deviceProperties=[], displayTimeUnit="ms",
                traceEvents=sorted(events, key=lambda e: e["ts"]))


NO_KERNEL = ("as_strided empty empty_like empty_strided view _unsafe_view resize_ detach alias _reshape_alias expand t transpose "
             "unsqueeze slice select permute split reshape is_nonzero item _local_scalar_dense set_ lift_fresh result_type to narrow").split()


def on_gpu(cpu):
    ops = [e for e in cpu["traceEvents"] if e["name"].startswith("aten::") and e["name"][6:] not in NO_KERNEL]
    steps = [e for e in cpu["traceEvents"] if e["name"].startswith("ProfilerStep#")]
    loader = [e for e in cpu["traceEvents"] if "DataLoader" in e["name"]]
    leaf, last = [], {}
    for e in ops:
        outer = last.get(e["tid"])
        while outer is not None and outer["ts"] + outer["dur"] < e["ts"] + e["dur"]:
            outer = outer.get("outer")
        e["outer"] = outer
        last[e["tid"]] = e
        if outer is not None:
            outer["calls"] = True
    leaf = [e for e in ops if "calls" not in e]
    out, host, gpu, correlation = [], 0.0, 0.0, 1
    clock = []                                          # (old CPU time, new)

    def emit(cat, name, begin, end, pid, tid, **args):
        out.append(dict(ph="X", cat=cat, name=name, pid=pid, tid=tid, ts=round(1e6 + begin, 3), dur=round(end - begin, 3), args=args))

    def runs(name, e, takes, stream=7):
        nonlocal host, gpu, correlation
        args = {"External id": e["args"]["External id"]} if e else {}
        launched, host = host, host + 10
        emit("cuda_runtime", "cudaLaunchKernel", launched, host, 4242, 4242, correlation=correlation, **args)
        begin = max(gpu + 1, host + 3)
        gpu = begin + takes
        emit("kernel", name, begin, gpu, 0, stream, device=0, context=1, stream=stream, correlation=correlation,
             grid=[64, 1, 1], block=[128, 1, 1], **{"blocks per SM": 0.5, "est. achieved occupancy %": 25}, **args)
        correlation += 1

    for n, step in enumerate(steps):
        begin = host
        emit("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", host, host + 3000, 4242, 4242)
        host += 3000
        inside = [e for e in leaf if step["ts"] <= e["ts"] <= step["ts"] + step["dur"]]
        inside = [e for e in inside if not any(l["ts"] <= e["ts"] <= l["ts"] + l["dur"] for l in loader)]
        optimizer = None
        for i, e in enumerate(inside):
            if i == len(inside) // 3:                   # loss.item() in the middle
                emit("cuda_runtime", "cudaStreamSynchronize", host, gpu, 4242, 4242, correlation=correlation)
                correlation += 1
                host = max(host, gpu) + 1000
            if i == len(inside) // 2:                   # the host does something else
                while host < gpu:
                    host = gpu
                host += 2000
            new = dict(e, ts=round(1e6 + host, 3), dur=12, tid=e["tid"])
            for k in ("outer", "calls"):
                new.pop(k, None)
            out.append(new)
            runs("void at::native::kernel<%s>(...)" % e["name"][6:], e, 20.0)
            clock.append((e["ts"], new["ts"] - 1e6))
        runs("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", None, 500.0, 20)
        for e in cpu["traceEvents"]:                    # where what encloses operations has gone
            if e["name"].startswith(("Optimizer.step#", "autograd::engine::evaluate_function")) and step["ts"] <= e["ts"] <= step["ts"] + step["dur"]:
                moved = [t for o, t in clock if e["ts"] <= o <= e["ts"] + e["dur"]]
                if moved:
                    emit(e["cat"], e["name"], min(moved) - 1, max(moved) + 13, e["pid"], e["tid"])
        host = max(host, gpu)
        emit("user_annotation", "ProfilerStep#%d" % n, begin, host, 4242, 4242)
    return dict(schemaVersion=1, deviceProperties=[{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}],
                displayTimeUnit="ms", traceEvents=out)


cpu = slim(record())
gpu = on_gpu(json.loads(json.dumps(cpu)))
for name, trace in (("cpu", cpu), ("gpu", gpu)):
    with open(os.path.join(sys.argv[1], name + ".json"), "w") as f:
        f.write('{"schemaVersion": 1, "deviceProperties": %s, "displayTimeUnit": "ms", "traceEvents": [\n' % json.dumps(trace["deviceProperties"]))
        f.write(",\n".join(json.dumps(e, separators=(",", ":")) for e in trace["traceEvents"]) + "\n]}\n")
