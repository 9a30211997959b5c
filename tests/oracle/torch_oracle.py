"""Ground truth for mfuplan: what PyTorch itself keeps in memory during one training micro-step.

Nothing is computed and no GPU is needed. All tensors are *fake CUDA tensors*: PyTorch runs its
real dispatcher, its real autocast rules for CUDA and its real autograd engine, but no kernel.
A dispatch mode watches every aten call and follows every storage from birth to death.

    python torch_oracle.py                 # all configurations -> torch_oracle.csv
    python torch_oracle.py gpt2-124m       # only ids that contain this text, to standard output
    python torch_oracle.py --trace DIR     # event traces of three small models -> DIR

README.md explains the columns and their limits.
"""

import contextlib
import csv
import ctypes
import functools
import gc
import math
import os
import sys
import weakref
from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten


# ---------------------------------------------------------------- fake CUDA without a GPU

def pretend_cuda():
    """Let autocast and the autograd engine accept fake CUDA tensors on a machine without a GPU."""
    torch._C._ensureCUDADeviceGuardSet()
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *args, **kwargs: True
    if not torch.backends.cuda.is_built() or torch.cuda.is_available():
        return
    # Before a backward pass the engine asks the CUDA hooks whether device 0 has a context, which
    # raises if there is no device. Answer "yes" by replacing entry 4 of the object's virtual table.
    lib = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
    get_hooks = lib._ZN2at6detail12getCUDAHooksEv
    get_hooks.restype = ctypes.c_void_p
    vptr = ctypes.c_void_p.from_address(get_hooks())
    signature = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int8)
    answer = signature(lambda this, device: True)
    table = (ctypes.c_void_p * 66).from_address(vptr.value - 16)
    copy = (ctypes.c_void_p * 66)(*table)
    copy[2 + 4] = ctypes.cast(answer, ctypes.c_void_p).value
    vptr.value = ctypes.addressof(copy) + 16
    pretend_cuda.keep = (answer, copy)


# ---------------------------------------------------------------- configurations

@dataclass
class Config:
    model: str = "gpt2"          # gpt2 | llama
    n_layer: int = 12
    n_head: int = 12
    n_kv_head: int = 12
    n_embd: int = 768
    d_ff: int = 3072
    vocab: int = 50304
    seq: int = 1024
    batch: int = 8
    accum: int = 1
    precision: str = "bf16"      # bf16 | fp16: autocast with fp32 weights; bf16-pure; fp32
    attention: str = "flash"     # flash | math | memeff
    checkpoint: str = "none"     # none | full
    bias: bool = False
    dropout: float = 0.0
    tied: bool = True


GPT2 = {}
MEDIUM = dict(n_layer=24, n_head=16, n_kv_head=16, n_embd=1024, d_ff=4096)
N384 = dict(n_head=6, n_kv_head=6, n_embd=384, d_ff=1536)
CHAR = dict(N384, n_layer=6, vocab=65, seq=256)
TINY = dict(model="llama", n_layer=22, n_head=32, n_kv_head=4, n_embd=2048, d_ff=5632,
            vocab=32000, seq=2048, tied=False, precision="bf16-pure")
LL32 = dict(TINY, n_layer=16, n_kv_head=8, d_ff=8192, vocab=128256, tied=True)

CASES = [("gpt2-124m-bf16-flash", GPT2, (1, 4, 8, 12)),
         ("gpt2-124m-bf16-flash-bias", dict(bias=True), (8,)),
         ("gpt2-124m-bf16-flash-dropout", dict(dropout=0.1), (8,)),
         ("gpt2-124m-bf16-math", dict(attention="math"), (4, 8)),
         ("gpt2-124m-bf16-math-dropout", dict(attention="math", dropout=0.1), (4,)),
         ("gpt2-124m-fp32-memeff", dict(precision="fp32", attention="memeff"), (4,)),
         ("gpt2-124m-fp16-flash", dict(precision="fp16"), (8,)),
         ("gpt2-124m-fp16-math", dict(precision="fp16", attention="math"), (4,)),
         ("gpt2-124m-bf16pure-flash", dict(precision="bf16-pure"), (8,)),
         ("gpt2-medium-bf16-flash", MEDIUM, (4, 8)),
         ("gpt2-char-bf16-flash", CHAR, (64,)),
         ("gpt2-n384-bf16-flash", N384, (16,)),
         ("gpt2-124m-bf16-flash-ckpt", dict(checkpoint="full"), (8,)),
         ("gpt2-medium-bf16-flash-ckpt", dict(MEDIUM, checkpoint="full"), (16,)),
         ("tinyllama-bf16pure-flash", TINY, (1, 2, 4)),
         ("tinyllama-bf16-flash", dict(TINY, precision="bf16"), (1, 2)),
         ("tinyllama-bf16pure-flash-ckpt", dict(TINY, checkpoint="full"), (4,)),
         ("tinyllama-bf16-flash-ckpt", dict(TINY, checkpoint="full", precision="bf16"), (4,)),
         ("llama32-1b-bf16pure-flash", LL32, (1, 2)),
         ("llama32-1b-bf16pure-flash-t8192", dict(LL32, seq=8192), (1,)),
         ("llama32-1b-bf16-flash", dict(LL32, precision="bf16"), (1,))]


def all_configs():
    for name, fields, batches in CASES:
        for batch in batches:
            for accum in (1, 2):
                yield f"{name}-b{batch}-a{accum}", Config(**fields, batch=batch, accum=accum)


# ---------------------------------------------------------------- attention

def flash(q, k, v, dropout=0.0):
    """What scaled_dot_product_attention(is_causal=True) calls when it selects flash attention."""
    return aten._scaled_dot_product_flash_attention(q, k, v, dropout, True)[0]


def memeff(q, k, v, dropout=0.0):
    return aten._scaled_dot_product_efficient_attention(q, k, v, None, True, dropout, True)[0]


def autocast_args(*tensors):
    """The casts that autocast makes for scaled_dot_product_attention (not cached: not leaves)."""
    if not torch.is_autocast_enabled("cuda"):
        return tensors
    return tuple(t.to(torch.get_autocast_dtype("cuda")) for t in tensors)


# ---------------------------------------------------------------- GPT-2 in the style of nanoGPT

class LayerNorm(nn.Module):
    def __init__(self, n, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class GPTAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c_attn = nn.Linear(c.n_embd, 3 * c.n_embd, bias=c.bias)
        self.c_proj = nn.Linear(c.n_embd, c.n_embd, bias=c.bias)
        self.attn_dropout = nn.Dropout(c.dropout)
        self.resid_dropout = nn.Dropout(c.dropout)
        self.n_head, self.n_embd, self.kind, self.p = c.n_head, c.n_embd, c.attention, c.dropout
        if self.kind == "math":
            self.register_buffer("mask", torch.tril(torch.ones(c.seq, c.seq)).view(1, 1, c.seq, c.seq))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        if self.kind == "flash":
            y = flash(*autocast_args(q, k, v), self.p)
        elif self.kind == "memeff":
            y = memeff(*autocast_args(q, k, v), self.p)
        else:
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
            att = F.softmax(att, dim=-1)
            att = self.attn_dropout(att)
            y = att @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class GPTMLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c_fc = nn.Linear(c.n_embd, c.d_ff, bias=c.bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(c.d_ff, c.n_embd, bias=c.bias)
        self.dropout = nn.Dropout(c.dropout)

    def forward(self, x):
        x = self.c_fc(x)
        x = self.gelu(x)
        x = self.c_proj(x)
        return self.dropout(x)


class GPTBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1, self.attn = LayerNorm(c.n_embd, c.bias), GPTAttention(c)
        self.ln_2, self.mlp = LayerNorm(c.n_embd, c.bias), GPTMLP(c)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c.vocab, c.n_embd), nn.Embedding(c.seq, c.n_embd)
        self.drop = nn.Dropout(c.dropout)
        self.h = nn.ModuleList([GPTBlock(c) for _ in range(c.n_layer)])
        self.ln_f = LayerNorm(c.n_embd, c.bias)
        self.lm_head = nn.Linear(c.n_embd, c.vocab, bias=False)
        if c.tied:
            self.wte.weight = self.lm_head.weight
        self.checkpoint = c.checkpoint

    def forward(self, idx, targets):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        tok_emb = self.wte(idx)
        pos_emb = self.wpe(pos)
        x = self.drop(tok_emb + pos_emb)
        for block in self.h:
            x = run_block(self.checkpoint, block, x)
        x = self.ln_f(x)
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss


def run_block(mode, block, *args):
    if mode == "full":
        return checkpoint(block, *args, use_reentrant=False, preserve_rng_state=False)
    return block(*args)


# ---------------------------------------------------------------- Llama in the style of Hugging Face

class RMSNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + 1e-5)
        return self.weight * hidden_states.to(input_dtype)


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-x2, x1), dim=-1)


def apply_rotary(q, k, cos, sin):
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    q_embed = (q * cos) + (rotate_half(q) * sin)
    k_embed = (k * cos) + (rotate_half(k) * sin)
    return q_embed, k_embed


class LlamaAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.d = c.n_embd // c.n_head
        self.q_proj = nn.Linear(c.n_embd, c.n_head * self.d, bias=False)
        self.k_proj = nn.Linear(c.n_embd, c.n_kv_head * self.d, bias=False)
        self.v_proj = nn.Linear(c.n_embd, c.n_kv_head * self.d, bias=False)
        self.o_proj = nn.Linear(c.n_head * self.d, c.n_embd, bias=False)

    def forward(self, hidden_states, cos, sin):
        B, T, _ = hidden_states.shape
        q = self.q_proj(hidden_states).view(B, T, -1, self.d).transpose(1, 2)
        k = self.k_proj(hidden_states).view(B, T, -1, self.d).transpose(1, 2)
        v = self.v_proj(hidden_states).view(B, T, -1, self.d).transpose(1, 2)
        q, k = apply_rotary(q, k, cos, sin)
        # grouped-query attention: k and v keep their own number of heads (enable_gqa=True)
        attn_output = flash(*autocast_args(q, k, v))
        attn_output = attn_output.transpose(1, 2).contiguous()
        attn_output = attn_output.reshape(B, T, -1).contiguous()
        return self.o_proj(attn_output)


class LlamaMLP(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gate_proj = nn.Linear(c.n_embd, c.d_ff, bias=False)
        self.up_proj = nn.Linear(c.n_embd, c.d_ff, bias=False)
        self.down_proj = nn.Linear(c.d_ff, c.n_embd, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.input_layernorm, self.self_attn = RMSNorm(c.n_embd), LlamaAttention(c)
        self.post_attention_layernorm, self.mlp = RMSNorm(c.n_embd), LlamaMLP(c)

    def forward(self, hidden_states, cos, sin):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = self.self_attn(hidden_states, cos, sin)
        hidden_states = residual + hidden_states
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = residual + hidden_states
        return hidden_states


def causal_lm_loss(logits, labels):
    logits = logits.float()
    return F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab, c.n_embd)
        self.layers = nn.ModuleList([LlamaBlock(c) for _ in range(c.n_layer)])
        self.norm = RMSNorm(c.n_embd)
        self.lm_head = nn.Linear(c.n_embd, c.vocab, bias=False)
        if c.tied:
            self.lm_head.weight = self.embed_tokens.weight
        d = c.n_embd // c.n_head
        self.register_buffer("inv_freq", torch.ones(d // 2, dtype=torch.float32))
        self.checkpoint = c.checkpoint

    @torch.no_grad()
    def rotary(self, x):
        with torch.autocast("cuda", enabled=False):
            position = torch.arange(x.size(1), device=x.device).float()
            freqs = position[None, :, None] * self.inv_freq
            emb = torch.cat((freqs, freqs), dim=-1)
            return emb.cos().to(x.dtype), emb.sin().to(x.dtype)

    def decoder(self, idx):
        hidden_states = self.embed_tokens(idx)
        cos, sin = self.rotary(hidden_states)
        for layer in self.layers:
            hidden_states = run_block(self.checkpoint, layer, hidden_states, cos, sin)
        return self.norm(hidden_states)

    def forward(self, idx, targets):
        hidden_states = self.decoder(idx)
        logits = self.lm_head(hidden_states)
        return logits, causal_lm_loss(logits, targets)


# ---------------------------------------------------------------- tracker

def round_up(n, m):
    return (n + m - 1) // m * m


def flash_temporaries(args):
    """Bytes that the CUDA flash backward allocates inside one aten call (fake tensors hide them)."""
    B, a, T, d = args[1].shape
    kv, S = args[2].shape[1:3]
    T = round_up(T, 128)
    softmax_d, dq_accum = 4 * B * a * T, 4 * B * a * T * round_up(d, 32)
    expanded = 2 * 2 * B * a * S * d if kv != a else 0
    return softmax_d + dq_accum + expanded


@functools.cache
def writes(func):
    return any(x.alias_info is not None and x.alias_info.is_write for x in func._schema.arguments)


class Tracker(TorchDispatchMode):
    """Follows every storage by weak reference; keeps no tensor alive."""

    def __init__(self, trace=False):
        super().__init__()
        self.storages = {}          # address of the StorageImpl -> [serial, bytes, weakref, label, is cast]
        self.live = self.serial = 0
        self.weights = set()        # serial numbers of parameter storages
        self.lines = [] if trace else None
        self.pending = None
        self.start("setup")

    def start(self, phase):
        self.settle()
        self.phase, self.peak, self.peak_op = phase, self.live, "start"
        self.peak_flash, self.peak_flash_op = self.live, "start"
        self.peak_blocks, self.peak_blocks_op = 0, ""
        self.flops = self.kernels = self.gemms = 0
        self.sums = []              # what the engine did with sums of gradients, for tests

    # -- storages
    def entry(self, tensor, label="", cast=False):
        """The record of the tensor's storage, and the number of bytes that are new."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        found = self.storages.get(key)
        if found is not None:
            return found, 0
        nbytes = round_up(storage.nbytes(), 512)
        self.serial += 1
        ref = weakref.ref(storage, lambda _, key=key: self.free(key))
        self.storages[key] = record = [self.serial, nbytes, ref, label, cast]
        self.live += nbytes
        return record, nbytes

    def free(self, key):
        self.live -= self.storages.pop(key)[1]

    # -- peaks
    def settle(self):
        """Decide about the last gradient sum of the engine, see README (engine sums)."""
        if self.pending is None:
            return
        serial, live, nbytes, label, line = self.pending
        self.pending = None
        if serial == 0 or any(record[0] == serial for record in self.storages.values()):
            self.sums.append(f"add {label}")
            self.new_peak(live, 0, label)
            return
        self.sums.append(f"add_ {label}")
        if self.lines is None:
            return
        self.lines[line] = self.lines[line].split(" live=")[0] + \
            f" live={live - nbytes}  (in place in real PyTorch, counted so)"

    def new_peak(self, live, temporary, label):
        if live > self.peak:
            self.peak, self.peak_op = live, label
        if self.gemms > 2 and live + temporary > self.peak_blocks:   # 2: wgrad and dgrad of the head
            self.peak_blocks, self.peak_blocks_op = live + temporary, label
        if live + temporary > self.peak_flash:
            self.peak_flash, self.peak_flash_op = live + temporary, label

    # -- every aten call
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.prim.device.default:
            return args[0].fake_device
        self.settle()
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        name, new, label = str(func), 0, ""
        tensors = [t for t in tree_leaves(out) if isinstance(t, FakeTensor) and t.fake_device.type == "cuda"]
        if tensors:
            shapes = ", ".join(f"{str(t.dtype)[6:]}{list(t.shape)}" for t in tensors)
            label = f"{name} {shapes}"
            cast = name == "aten._to_copy.default" and self.is_weight(args[0])
            new = sum(self.entry(t, label, cast)[1] for t in tensors)
        if (new and "empty" not in name) or writes(func):
            self.kernels += 1
        packet = func._overloadpacket
        self.gemms += packet in (aten.mm, aten.addmm)
        if packet in flop_registry:
            self.flops += flop_registry[packet](*args, **kwargs, out_val=out)
        if self.lines is not None and label:
            self.lines.append(f"{self.phase:9s} {label}  new={new} live={self.live}")
        if func is aten.add.Tensor and self.phase == "backward" and not torch.is_grad_enabled() and new:
            old = 0 if args[0]._is_view() else self.entry(args[0])[0][0]
            self.pending = (old, self.live, new, label, len(self.lines or ()) - 1)
        else:
            hidden = flash_temporaries(args) if packet is aten._scaled_dot_product_flash_attention_backward else 0
            self.new_peak(self.live, hidden, label)
        return out

    def is_weight(self, tensor):
        record = self.storages.get(tensor.untyped_storage()._cdata)
        return record is not None and record[0] in self.weights


# ---------------------------------------------------------------- one configuration

def build(c):
    torch.set_default_dtype(torch.bfloat16 if c.precision == "bf16-pure" else torch.float32)
    try:
        with torch.device("cuda"):
            return (GPT if c.model == "gpt2" else Llama)(c)
    finally:
        torch.set_default_dtype(torch.float32)


def get_batch(c):
    return tuple(torch.zeros(c.batch, c.seq, dtype=torch.long, device="cuda") for _ in "XY")


def autocast(c):
    if c.precision in ("bf16", "fp16"):
        return torch.autocast("cuda", dtype=torch.bfloat16 if c.precision == "bf16" else torch.float16)
    return contextlib.nullcontext()


def saved_for_backward(c, model, tracker):
    """Distinct storages that autograd saves during one forward pass, parameters excluded."""
    saved = {}

    def pack(tensor):
        if isinstance(tensor, FakeTensor) and tensor.fake_device.type == "cuda":
            storage = tensor.untyped_storage()
            serial, _, _, label, cast = tracker.entry(tensor)[0]
            if serial not in tracker.weights:
                saved[serial] = (storage.nbytes(), cast, label)
        with torch.no_grad():
            return tensor.detach()

    X, Y = get_batch(c)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), autocast(c):
        logits, loss = model(X, Y)
    return list(saved.values())


def measure(c, trace=False):
    with FakeTensorMode(), Tracker(trace) as tracker:
        model = build(c)
        params = list(model.parameters())
        tracker.weights = {tracker.entry(p)[0][0] for p in params}
        states = [torch.zeros_like(p) for p in params for _ in range(2)]
        scale = torch.ones((), device="cuda") if c.precision == "fp16" else None
        held = params + states
        saved = saved_for_backward(c, model, tracker)
        if trace:
            tracker.lines.clear()
        X, Y = get_batch(c)
        for step in (1, 2):
            for micro in range(c.accum):
                gc.collect()
                grads = [p.grad for p in params if p.grad is not None]
                static = sum(tracker.entry(t)[0][1] for t in held + grads)
                del grads
                if trace and (step, micro) == (2, c.accum - 1):
                    tracker.lines.clear()
                    tracker.lines.append(f"# static bytes {static}; live bytes before the micro-step {tracker.live}")
                # ---- the micro-step, as in nanoGPT
                tracker.start("forward")
                with autocast(c):
                    logits, loss = model(X, Y)
                    loss = loss / c.accum
                X, Y = get_batch(c)
                tracker.settle()
                forward = vars(tracker).copy()
                tracker.start("backward")
                if scale is None:
                    loss.backward()
                else:
                    (loss * scale).backward()
                tracker.settle()
                # ---- end of the micro-step
            if step == 1:
                model.zero_grad(set_to_none=True)
        backward = vars(tracker)
        first = max(forward, backward, key=lambda phase: phase["peak"])
        first_flash = max(forward, backward, key=lambda phase: phase["peak_flash"])
        buffers = sum(tracker.entry(b)[0][1] for b in model.buffers())
        if trace:
            tracker.lines.append("# saved for backward at the end of forward: bytes, made by")
            tracker.lines += [f"saved     {n}  {label}{'  (cast of a weight)' if cast else ''}"
                              for n, cast, label in saved]
        casts = sum(n for n, cast, _ in saved if cast)
        total = sum(n for n, _, _ in saved)
        return dict(
            params=sum(p.numel() for p in params), static_bytes=static, buffer_bytes=buffers,
            saved_bytes=total, saved_weight_cast_bytes=casts, saved_other_bytes=total - casts,
            backward_start_bytes=forward["live"], forward_peak_bytes=forward["peak"],
            forward_peak_op=forward["peak_op"], peak_bytes=first["peak"], peak_phase=first["phase"],
            peak_op=first["peak_op"], peak_flash_bytes=first_flash["peak_flash"],
            peak_flash_op=first_flash["peak_flash_op"], peak_blocks_bytes=backward["peak_blocks"],
            peak_blocks_op=backward["peak_blocks_op"], end_bytes=tracker.live,
            flops_forward=forward["flops"], flops_backward=backward["flops"],
            kernel_count_forward=forward["kernels"], kernel_count_backward=backward["kernels"]), tracker.lines


# ---------------------------------------------------------------- command line

def write_rows(out, wanted):
    writer = None
    for name, config in all_configs():
        if wanted in name:
            row = {"id": name, **asdict(config), **measure(config)[0]}
            if writer is None:
                out.write(f"# torch {torch.__version__}, fake CUDA tensors, made 2026-11-20; see README.md\n")
                writer = csv.DictWriter(out, list(row))
                writer.writeheader()
            writer.writerow(row)
            out.flush()


def write_traces(folder):
    cases = dict(all_configs())
    for name in ("gpt2-124m-bf16-flash-b8-a2", "gpt2-124m-bf16-math-b4-a1", "tinyllama-bf16pure-flash-b2-a1"):
        config = Config(**{**asdict(cases[name]), "n_layer": 3})
        numbers, lines = measure(config, trace=True)
        with open(os.path.join(folder, f"trace_{name}.txt"), "w") as out:
            out.write(f"# {config}\n")
            out.writelines(f"# {key} = {value}\n" for key, value in numbers.items())
            out.writelines(line + "\n" for line in lines)


if __name__ == "__main__":
    pretend_cuda()
    if sys.argv[1:2] == ["--trace"]:
        write_traces(sys.argv[2])
    elif len(sys.argv) > 1:
        write_rows(sys.stdout, sys.argv[1])
    else:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_oracle.csv"), "w") as out:
            write_rows(out, "")
    sys.stdout.flush()
    os._exit(0)     # the engine's device thread does not survive a normal exit without a GPU
