#!/usr/bin/env python3
"""torch_measure.py - ground truth for mfuplan: trains, times, and looks at memory.

    mfuplan -e 'gpu rtx4070; model gpt2; export scenarios runs.jsonl'
    torch_measure.py runs.jsonl measured.csv
    mfuplan -e 'validate measured.csv'

Reads scenarios: JSON lines, each an object of mfuplan's settings (or one with
such an object under "scenario", as `mfuplan --json` prints it), or a CSV whose
columns are settings.  Every scenario runs in a process of its own, with a model
of its own below: GPT-2 (nanoGPT) or Llama, nothing but PyTorch.  Writes the CSV
that `validate` and `calibrate from` read; running out of memory is a result.
Scenarios that are in the CSV already are not run again.

    torch_measure.py --device cpu --toy runs.jsonl measured.csv

shrinks the models and runs on the CPU: to see that all this works.  Such rows say
gpu=cpu, and mfuplan takes none of them for a GPU's.
"""
import argparse
import contextlib
import csv
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

COLUMNS = """id source source_loc gpu n_gpus gpus_per_node intra_link inter_link model family n_layer n_head n_kv_head
head_dim n_embd d_ff vocab seq_len n_experts experts_active params_m pos tied mlp norm bias dropout micro_batch
grad_accum global_batch precision attention compile optimizer act_ckpt act_offload sharding tp pp vpp cp ep sp
step_time_ms tokens_per_s tokens_per_s_gpu mfu_pct mfu_peak_tflops mfu_convention hfu_pct model_tflops_gpu
mem_allocated_gib mem_reserved_gib mem_smi_gib step_time_spread notes outcome""".split()

DEFAULTS = dict(batch=1, accum=1, precision="bf16", runtime="eager", attention="flash", checkpoint="none",
                optimizer="adamw", grad_clip=1.0, dropout=0.0, bias=0, tied=1, upcast_logits=0, keep_logits=0)
GPT2 = dict(n_layer=12, n_head=12, n_embd=768, vocab_size=50304, seq=1024, keep_logits=1)
LLAMA = dict(n_layer=32, n_head=32, n_embd=4096, d_ff=11008, vocab_size=32000, seq=4096, tied=0, upcast_logits=1)
TOY = dict(n_layer=2, n_head=4, n_embd=64, head_dim=16, d_ff=192, vocab_size=512, seq=64, batch=2)

# The words of the CSV for mfuplan's settings; what is not here cannot be run.
PRECISIONS = {"fp32": "fp32", "tf32": "tf32", "fp16": "fp16-amp", "bf16": "bf16-amp", "bf16-pure": "bf16-pure"}
RUNTIMES = {"eager": "eager", "compile": "torch.compile"}
ATTENTIONS = {"math": "math", "flash": "flash2", "memeff": "memeff", "cudnn": "cudnn"}
OPTIMIZERS = {"adamw": "adamw-fused", "adamw-foreach": "adamw-foreach", "adamw-loop": "bertadam", "sgd": "sgd",
              "sgd-momentum": "sgd-momentum"}
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION, "memeff": SDPBackend.EFFICIENT_ATTENTION,
            "cudnn": SDPBackend.CUDNN_ATTENTION}


# ---- scenarios --------------------------------------------------------------

def number(x):
    """Text from a CSV as the number it is; "on" and "off" as 1 and 0."""
    if not isinstance(x, str):
        return x
    words = {"on": 1, "off": 0, "yes": 1, "no": 0, "true": 1, "false": 0}
    if x.lower() in words:
        return words[x.lower()]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(x)
    return x


def read_scenarios(path):
    with open(path, newline="") as f:
        if path.endswith(".csv"):
            rows = list(csv.DictReader(f))
        else:
            rows = [json.loads(line) for line in f if line.strip() and not line.startswith("#")]
    rows = [row.get("scenario", row) for row in rows]
    return [{k: number(v) for k, v in row.items() if v not in ("", None)} for row in rows]


def family_of(model):
    """Which of the models below stands for that name; None: neither."""
    name = str(model).lower()
    if name.startswith("gpt2"):
        return "gpt2"
    if name.startswith(("llama", "tinyllama")):
        return "llama"
    return "qwen2.5" if name.startswith("qwen2.5") else None


def complete(settings, toy):
    """All settings of a scenario, or the reason why it cannot be run here."""
    s = dict(DEFAULTS, model="gpt2")
    family = family_of(settings.get("model", "gpt2"))
    if family is None:
        return f"model {settings['model']}: neither GPT-2 nor Llama"
    s.update(GPT2 if family == "gpt2" else LLAMA, family=family)
    s.update(settings)
    if toy:
        s.update(TOY, accum=min(int(s["accum"]), 2), n_kv_head=2 if s.get("n_kv_head", s["n_head"]) != s["n_head"] else 4)
    s.setdefault("n_kv_head", s["n_head"])
    s.setdefault("head_dim", s["n_embd"] // s["n_head"])
    s.setdefault("d_ff", 4 * s["n_embd"])
    for key, known in (("precision", PRECISIONS), ("runtime", RUNTIMES), ("attention", ATTENTIONS),
                       ("optimizer", OPTIMIZERS), ("checkpoint", ("none", "selective", "full"))):
        if s[key] not in known:
            return f"{key} {s[key]} is not measured here"
    if s.get("gpus", 1) != 1:
        return "more than one GPU is not measured here"
    if s.get("loss_chunks", 1) != 1 or s.get("cuda_graphs", 0) or s.get("half_weights", 0):
        return "loss_chunks, cuda_graphs and half_weights are not measured here"
    return s


# ---- models -----------------------------------------------------------------

class Attention(nn.Module):
    """Causal attention of grouped heads, through the kernel that was asked for."""

    def __init__(self, s):
        super().__init__()
        self.heads, self.kv_heads, self.dim = s["n_head"], s["n_kv_head"], s["head_dim"]
        self.dropout, self.backend = s["dropout"], BACKENDS[s["attention"]]
        self.recompute = s["checkpoint"] == "selective"

    def core(self, q, k, v):
        with sdpa_kernel(self.backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0,
                                                  enable_gqa=self.heads != self.kv_heads)

    def forward(self, q, k, v):
        b, t, _ = q.shape
        q = q.view(b, t, self.heads, self.dim).transpose(1, 2)
        k = k.view(b, t, self.kv_heads, self.dim).transpose(1, 2)
        v = v.view(b, t, self.kv_heads, self.dim).transpose(1, 2)
        return self.merge(q, k, v)

    def merge(self, q, k, v):
        b, _, t, _ = q.shape
        y = checkpoint(self.core, q, k, v, use_reentrant=False) if self.recompute and self.training else self.core(q, k, v)
        return y.transpose(1, 2).contiguous().view(b, t, self.heads * self.dim)


class LayerNorm(nn.Module):
    """With a bias that may be left out."""

    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class GPT2Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        width, bias = s["n_embd"], bool(s["bias"])
        self.sizes = [s["n_head"] * s["head_dim"], s["n_kv_head"] * s["head_dim"], s["n_kv_head"] * s["head_dim"]]
        self.ln_1, self.ln_2 = LayerNorm(width, bias), LayerNorm(width, bias)
        self.qkv = nn.Linear(width, sum(self.sizes), bias=bias)
        self.attention = Attention(s)
        self.proj = nn.Linear(self.sizes[0], width, bias=bias)
        self.fc = nn.Linear(width, s["d_ff"], bias=bias)
        self.fc_proj = nn.Linear(s["d_ff"], width, bias=bias)
        self.drop = nn.Dropout(s["dropout"])

    def forward(self, x):
        q, k, v = self.qkv(self.ln_1(x)).split(self.sizes, dim=2)
        x = x + self.drop(self.proj(self.attention(q, k, v)))
        return x + self.drop(self.fc_proj(F.gelu(self.fc(self.ln_2(x)))))


class RMSNorm(nn.Module):
    """As Hugging Face writes it: statistics in fp32, the result in the type of x."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * wide.to(x.dtype)


def rotate(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-right, left), dim=-1) * sin


class LlamaBlock(nn.Module):
    def __init__(self, s):
        super().__init__()
        width, dim, bias = s["n_embd"], s["head_dim"], bool(s["bias"])
        self.heads, self.kv_heads, self.dim = s["n_head"], s["n_kv_head"], dim
        self.ln_1, self.ln_2 = RMSNorm(width), RMSNorm(width)
        self.q = nn.Linear(width, s["n_head"] * dim, bias=bias)
        self.k = nn.Linear(width, s["n_kv_head"] * dim, bias=bias)
        self.v = nn.Linear(width, s["n_kv_head"] * dim, bias=bias)
        self.attention = Attention(s)
        self.o = nn.Linear(s["n_head"] * dim, width, bias=False)
        self.gate = nn.Linear(width, s["d_ff"], bias=False)
        self.up = nn.Linear(width, s["d_ff"], bias=False)
        self.down = nn.Linear(s["d_ff"], width, bias=False)

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        h = self.ln_1(x)
        q = self.q(h).view(b, t, self.heads, self.dim).transpose(1, 2)
        k = self.k(h).view(b, t, self.kv_heads, self.dim).transpose(1, 2)
        v = self.v(h).view(b, t, self.kv_heads, self.dim).transpose(1, 2)
        cos, sin = cos.to(q.dtype), sin.to(q.dtype)
        x = x + self.o(self.attention.merge(rotate(q, cos, sin), rotate(k, cos, sin), v))
        h = self.ln_2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    """Returns the loss; with keep_logits, the logits live as long as it."""

    def __init__(self, s):
        super().__init__()
        width, self.s, self.gpt2 = s["n_embd"], s, s["family"] == "gpt2"
        self.tokens = nn.Embedding(s["vocab_size"], width)
        self.positions = nn.Embedding(s["seq"], width) if self.gpt2 else None
        self.drop = nn.Dropout(s["dropout"])
        self.blocks = nn.ModuleList((GPT2Block if self.gpt2 else LlamaBlock)(s) for _ in range(s["n_layer"]))
        self.norm = LayerNorm(width, bool(s["bias"])) if self.gpt2 else RMSNorm(width)
        self.head = nn.Linear(width, s["vocab_size"], bias=False)
        if s["tied"]:
            self.head.weight = self.tokens.weight
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
        if not self.gpt2:
            dim = s["head_dim"]
            angle = torch.outer(torch.arange(s["seq"]).float(), 10000.0 ** (-torch.arange(0, dim, 2).float() / dim))
            angle = torch.cat((angle, angle), dim=-1)
            self.register_buffer("cos", angle.cos(), persistent=False)
            self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, index, target):
        x = self.tokens(index)
        if self.gpt2:
            x = self.drop(x + self.positions(torch.arange(index.shape[1], device=index.device)))
        arguments = () if self.gpt2 else (self.cos, self.sin)
        for block in self.blocks:
            if self.s["checkpoint"] == "full":
                x = checkpoint(block, x, *arguments, use_reentrant=False)
            else:
                x = block(x, *arguments)
        logits = self.head(self.norm(x))
        if self.s["upcast_logits"]:
            logits = logits.float()
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), target.view(-1))
        return (logits, loss) if self.s["keep_logits"] else (None, loss)


# ---- one scenario, in a process of its own ------------------------------------

def make_optimizer(s, model, device):
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    if s["optimizer"].startswith("sgd"):
        return torch.optim.SGD(groups, lr=1e-4, momentum=0.9 if "momentum" in s["optimizer"] else 0)
    fused = s["optimizer"] == "adamw" and device == "cuda"
    return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=fused,
                             foreach=None if fused else s["optimizer"] == "adamw-foreach")


class Training:
    """A step as nanoGPT takes it: micro-steps, clipping, optimizer.  `mark` hears when a phase has been issued."""

    mark = staticmethod(lambda phase: None)

    def __init__(self, s, device):
        self.s, self.device = s, device
        torch.manual_seed(1)
        torch.set_float32_matmul_precision("highest" if s["precision"] == "fp32" else "high")
        torch.backends.cudnn.allow_tf32 = s["precision"] != "fp32"
        with torch.device(device):
            self.model = Model(s)
        if s["precision"] == "bf16-pure":
            self.model.to(torch.bfloat16)
        self.optimizer = make_optimizer(s, self.model, device)
        self.run = torch.compile(self.model) if s["runtime"] == "compile" else self.model
        self.scaler = torch.amp.GradScaler(device, enabled=s["precision"] == "fp16" and device == "cuda")
        self.draw(int(s["batch"]))

    def draw(self, batch):
        """Other batches, of this size."""
        shape = (batch, int(self.s["seq"]))
        self.batches = [[torch.randint(self.s["vocab_size"], shape, device=self.device) for _ in range(2)] for _ in range(2)]

    def autocast(self):
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(self.s["precision"])
        return torch.autocast(self.device, dtype) if dtype else contextlib.nullcontext()

    def step(self):
        accum = int(self.s["accum"])
        for i in range(accum):
            index, target = self.batches[i % 2]
            with torch.profiler.record_function("mfuplan:forward"), self.autocast():
                logits, loss = self.run(index, target)
                loss = loss / accum
            self.mark("forward")
            with torch.profiler.record_function("mfuplan:backward"):
                self.scaler.scale(loss).backward()
            self.mark("backward")
        with torch.profiler.record_function("mfuplan:optimizer"):
            if self.s["grad_clip"]:
                self.scaler.unscale_(self.optimizer)
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), float(self.s["grad_clip"]))
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad(set_to_none=True)
        self.mark("optimizer")
        return loss.detach()


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def smi_used_bytes():
    """What nvidia-smi shows for this process; None where it does not."""
    try:
        lines = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"],
                               capture_output=True, text=True, timeout=20, check=True).stdout.splitlines()
        used = dict(line.split(",") for line in lines if "," in line)
        return float(used[str(os.getpid())]) * 2**20
    except (OSError, subprocess.SubprocessError, KeyError, ValueError):
        return None


def time_steps(training, device, seconds):
    """Step times, of rows of steps without waiting between."""
    for _ in range(3):
        training.step()
    wait(device)
    start = time.perf_counter()
    training.step()
    wait(device)
    once = time.perf_counter() - start
    row = max(1, min(20, int(0.5 / once)))          # steps in a row: about half a second
    warm_up = time.perf_counter()
    while time.perf_counter() < warm_up + seconds / 2:
        training.step()
        wait(device)
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times = []
    begin = time.perf_counter()
    while len(times) < 5 or time.perf_counter() < begin + seconds:
        start = time.perf_counter()
        for _ in range(row):
            loss = training.step()
        wait(device)
        times.append((time.perf_counter() - start) / row)
    if not torch.isfinite(loss):
        raise RuntimeError("the loss is not finite")
    return times


def out_of_memory(error):
    """Whether that is what an error of PyTorch means: libraries that find no workspace say it in their own words."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        words in str(error) for words in ("out of memory", "STATUS_ALLOC_FAILED", "cudaErrorMemoryAllocation"))


def measure(s, device, seconds):
    """The columns that were measured; and `training` and `times`, for who goes on with them."""
    result = {"outcome": "ran"}
    notes = [f"torch {torch.__version__}"]
    try:
        training = Training(s, device)
        result["params_m"] = round(sum(p.numel() for p in training.model.parameters()) / 1e6, 4)
        times = time_steps(training, device, seconds)
        middle, quarters = statistics.median(times), statistics.quantiles(times, n=4)
        spread = (quarters[2] - quarters[0]) / middle
        tokens = int(s["batch"]) * int(s["seq"]) * int(s["accum"])
        result.update(step_time_ms=round(1e3 * middle, 4), step_time_spread=round(spread, 4),
                      tokens_per_s=round(tokens / middle, 1), tokens_per_s_gpu=round(tokens / middle, 1))
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        result["outcome"] = "oom"
        notes.append(str(error).split(". ")[0])
    if device == "cuda":
        notes += [torch.cuda.get_device_name(), f"CUDA {torch.version.cuda}"]
        if result["outcome"] == "ran":
            result["mem_allocated_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 5)
            result["mem_reserved_gib"] = round(torch.cuda.max_memory_reserved() / 2**30, 5)
            used = smi_used_bytes()
            if used:
                result["mem_smi_gib"] = round(used / 2**30, 5)
    if result["outcome"] == "ran":
        result.update(training=training, times=times)
    result["notes"] = "; ".join(notes)
    return result


# ---- all of them ----------------------------------------------------------------

def identity(s):
    """The same for the same settings."""
    words = json.dumps({k: v for k, v in s.items() if k != "family"}, sort_keys=True)
    return f"torch-{s['model']}-b{s['batch']}x{s['accum']}-{s['runtime']}-" + hashlib.sha1(words.encode()).hexdigest()[:8]


def describe(s, gpu, device):
    """The columns that say what was run, and on what: never a GPU that was not there."""
    gpt2 = s["family"] == "gpt2"
    return dict(
        id=identity(s), source="torch_measure.py", gpu="cpu" if device == "cpu" else gpu or s.get("gpu", ""),
        n_gpus=1, gpus_per_node=1,
        model=s["model"], family=s["family"], n_layer=s["n_layer"], n_head=s["n_head"], n_kv_head=s["n_kv_head"],
        head_dim=s["head_dim"], n_embd=s["n_embd"], d_ff=s["d_ff"], vocab=s["vocab_size"], seq_len=s["seq"],
        pos="learned" if gpt2 else "rope", tied=int(s["tied"]), mlp="gelu" if gpt2 else "swiglu",
        norm="layernorm" if gpt2 else "rmsnorm", bias=int(s["bias"]), dropout=s["dropout"], micro_batch=s["batch"],
        grad_accum=s["accum"], global_batch=s["batch"] * s["accum"], precision=PRECISIONS[s["precision"]],
        attention=ATTENTIONS[s["attention"]], compile=RUNTIMES[s["runtime"]], optimizer=OPTIMIZERS[s["optimizer"]],
        act_ckpt=s["checkpoint"], act_offload=0, sharding="none", tp=1, pp=1, cp=1, ep=1, sp=0)


def run_apart(s, options):
    """Measures in a fresh process; the columns, or None and a reason."""
    command = [sys.executable, os.path.abspath(__file__), "--one", "--device", options.device,
               "--seconds", str(options.seconds)]
    try:
        process = subprocess.run(command, input=json.dumps(s), capture_output=True, text=True, timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return None, f"took longer than {options.timeout:.0f} s"
    lines = process.stdout.strip().splitlines()
    if process.returncode == 0 and lines:
        return json.loads(lines[-1]), None
    return None, (process.stderr.strip().splitlines() or [f"ended with status {process.returncode}"])[-1]


def already_there(path, columns):
    """Identities of the rows of a table; ValueError where it has other columns than those that would be appended."""
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return set()
    with open(path, newline="") as f:
        table = csv.DictReader(f)
        if table.fieldnames != columns:
            raise ValueError(f"{path} has other columns than this version writes: name another place, or remove it")
        return {row.get("id") for row in table}


def append(path, row):
    """A whole line at a time, so that Ctrl-C loses nothing."""
    new = not os.path.exists(path) or os.path.getsize(path) == 0
    with open(path, "a", newline="") as f:
        writer = csv.DictWriter(f, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)


def main():
    parser = argparse.ArgumentParser(description="Measures training steps for mfuplan.")
    parser.add_argument("scenarios", nargs="?", help="JSON lines or CSV of mfuplan's settings")
    parser.add_argument("output", nargs="?", help="CSV to append to")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--gpu", help="mfuplan's name of the GPU here; else the scenario's")
    parser.add_argument("--toy", action="store_true", help="tiny models, to try this script out")
    parser.add_argument("--seconds", type=float, help="of timed steps for each scenario (10; toy 0.5)")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for each scenario (1800)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.seconds = options.seconds or (0.5 if options.toy else 10)
    if options.one:
        measured = measure(json.load(sys.stdin), options.device, options.seconds)
        print(json.dumps({k: v for k, v in measured.items() if k not in ("training", "times")}))
        return 0
    if not options.scenarios or not options.output:
        parser.error("expected a list of scenarios and a CSV to write")
    if options.device == "cuda" and not torch.cuda.is_available():
        print("torch_measure.py: PyTorch finds no CUDA GPU here; `--device cpu --toy` tries the script out", file=sys.stderr)
        return 1

    try:
        there, failed = already_there(options.output, COLUMNS), 0
    except ValueError as error:
        print(f"torch_measure.py: {error}", file=sys.stderr)
        return 1
    for number_of, settings in enumerate(read_scenarios(options.scenarios), 1):
        s = complete(settings, options.toy)
        if isinstance(s, str):
            print(f"{number_of}: left out: {s}", file=sys.stderr)
            continue
        if options.device == "cpu":
            s["attention"] = "math"                     # the fused kernels are the GPU's
        if identity(s) in there:
            print(f"{number_of}: {identity(s)} is there already", file=sys.stderr)
            continue
        result, why = run_apart(s, options)
        if why:
            failed += 1
            print(f"{number_of}: {identity(s)} failed: {why}", file=sys.stderr)
            continue
        append(options.output, {**describe(s, options.gpu, options.device), **result})
        there.add(identity(s))
        print(f"{number_of}: {identity(s)} {result['outcome']} {result.get('step_time_ms', '')} ms", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
