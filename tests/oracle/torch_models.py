"""Ground truth for mfuplan: what real model code keeps in memory during one training step.

Where torch_oracle.py has models of its own, this runs the classes that people train: those of
transformers (from the config.json files in configs/), torchvision's VisionTransformer and nanoGPT's
GPT.  Nothing is computed and no GPU is needed; how that works is told in torch_oracle.py and README.md.

    python torch_models.py                    # all configurations -> torch_models.csv
    python torch_models.py TEXT               # only ids that contain TEXT, to standard output
    python torch_models.py --part I/N FILE    # every N-th configuration from the I-th on, to FILE
"""

import contextlib
import copy
import csv
import functools
import gc
import importlib.util
import inspect
import json
import logging
import math
import os
import re
import sys
import textwrap

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import accelerate
import diffusers
import peft
import peft.tuners.ln_tuning.layer as ln_tuning
import peft.tuners.lycoris_utils
import timm
import torchvision
import transformers
from accelerate.utils.operations import convert_outputs_to_fp32
from transformers import initialization, masking_utils

import torch_oracle
from torch_oracle import Tracker, aten, autocast_args, flash_temporaries, pretend_cuda, round_up

HERE = os.path.dirname(os.path.abspath(__file__))
logging.disable(logging.WARNING)


# ---------------------------------------------------------------- what CUDA would choose

def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """F.scaled_dot_product_attention as sdp_utils.cpp selects its kernel: flash in 16 bits without a
    mask, memory-efficient in fp32 or with one, the parts where neither can (fp32 with fewer heads)."""
    query, key, value = autocast_args(query, key, value)
    half = query.dtype in (torch.float16, torch.bfloat16)
    d = query.size(-1)
    if half and attn_mask is None and d <= 256 and value.size(-1) == d:
        if scale is None:
            scale = d ** -0.5
        pad = -d % 8
        if pad:
            query, key, value = (F.pad(t, (0, pad)) for t in (query, key, value))
        out = aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, scale=scale)[0]
        return out[..., :d] if pad else out
    if enable_gqa:
        return aten._scaled_dot_product_attention_math(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=True)[0]
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_mask = torch.where(attn_mask, 0.0, float("-inf")).to(query.dtype)
        elif attn_mask.dtype != query.dtype:
            attn_mask = attn_mask.to(query.dtype)
        pad = -attn_mask.size(-1) % 16
        if pad:
            attn_mask = F.pad(attn_mask, (0, pad))[..., :attn_mask.size(-1)]
        attn_mask = attn_mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))
    return aten._scaled_dot_product_efficient_attention(
        query, key, value, attn_mask, True, dropout_p, is_causal, scale=scale)[0]


class GroupedMM(torch.autograd.Function):
    """torch._grouped_mm and its backward, of which fake tensors know only the forward."""

    @staticmethod
    def forward(ctx, x, w, offs):
        ctx.save_for_backward(x, w, offs)
        return grouped(x, w, offs)

    @staticmethod
    def backward(ctx, g):
        x, w, offs = ctx.saved_tensors
        return grouped(g, w.transpose(-2, -1), offs), grouped_wgrad(x, g, w), None


@torch.library.custom_op("mfuplan::grouped", mutates_args=())
def grouped(x: torch.Tensor, w: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError


@grouped.register_fake
def _(x, w, offs):
    return x.new_empty(x.size(0), w.size(-1))


@torch.library.custom_op("mfuplan::grouped_wgrad", mutates_args=())
def grouped_wgrad(x: torch.Tensor, g: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError


@grouped_wgrad.register_fake
def _(x, g, w):
    return torch.empty_like(w)


def grouped_flops(x, w, *args, **kwargs):
    """Rows times both sides of one expert's weight: the second operand of a wgrad has as many rows."""
    return 2 * x.size(0) * x.size(1) * w.size(-1)


def convolution_backward_flops(grad_out, x, w, *args, **kwargs):
    """As many for each gradient as forward has; torch's own formula takes groups for one."""
    transposed = args[4]                    # bias_sizes, stride, padding, dilation, transposed
    return 2 * (x if transposed else grad_out).numel() * math.prod(w.shape[1:]) * sum(args[-1][:2])


def mamba_kernels():
    """The functions of mamba-ssm and causal-conv1d, from checkouts of both on PYTHONPATH, as transformers takes them where they
    are installed.  Their compiled parts allocate what csrc/selective_scan/selective_scan.cpp and the Triton norm do."""
    import types

    @torch.library.custom_op("mfuplan::scan", mutates_args=())
    def scan(delta: torch.Tensor, b: torch.Tensor, state: int, chunks: int) -> list[torch.Tensor]:
        raise NotImplementedError

    @scan.register_fake
    def _(delta, b, state, chunks):
        return [torch.empty_like(delta), delta.new_empty(*delta.shape[:2], chunks, 2 * state, dtype=torch.float32),
                torch.empty_like(delta)]

    @torch.library.custom_op("mfuplan::scan_back", mutates_args=())
    def scan_back(u: torch.Tensor, delta: torch.Tensor, a: torch.Tensor, b: torch.Tensor, d: torch.Tensor, z: bool,
                  again: bool) -> list[torch.Tensor]:
        raise NotImplementedError

    @scan_back.register_fake
    def _(u, delta, a, b, d, z, again):
        single = [torch.empty_like(b, dtype=torch.float32) for _ in range(2)]
        return [torch.empty_like(u), torch.empty_like(delta), torch.empty_like(a), *single, torch.empty_like(d),
                torch.empty_like(d), *([torch.empty_like(u)] if z else []),
                *([torch.empty_like(u)] if again else [])]

    def fwd(u, delta, a, b, c, d, z, bias, softplus):
        return scan(delta, b, a.shape[1], -(-u.shape[-1] // 2048))

    def bwd(u, delta, a, b, c, d, z, bias, dout, x, out, dz, softplus, again):
        made = scan_back(u, delta, a, b, d, dz is None, again)
        made[3:5] = [made[3].to(b.dtype), made[4].to(b.dtype)]
        return made if dz is None else [*made[:7], dz, *made[7:]]

    def written(*tensors):                  # a kernel that fills what was allocated for it
        for t in tensors:
            if t is not None:
                t.zero_()

    sys.modules["selective_scan_cuda"] = types.SimpleNamespace(fwd=fwd, bwd=bwd)
    sys.modules["causal_conv1d_cuda"] = types.SimpleNamespace(
        causal_conv1d_fwd=lambda x, w, b, i, s, out, final, silu: written(out),
        causal_conv1d_bwd=lambda x, w, b, g, i, s, f, dx, dw, db, ds, silu: written(dx, dw, db))
    library = torch.library.custom_op
    torch.library.custom_op = lambda *args, **kwargs: lambda function: function     # they write into their arguments
    sys.modules["mamba_ssm.ops.triton.layer_norm"] = types.SimpleNamespace(
        _layer_norm_fwd=lambda x, w, b, eps, *args, **kwargs: (torch.empty_like(x), x.new_empty(len(x), dtype=torch.float32)))
    for name in ("mamba_ssm", "mamba_ssm.ops"):     # their __init__ loads Triton
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(p, *name.split(".")) for p in sys.path if os.path.isdir(os.path.join(p, *name.split(".")))]
        sys.modules[name] = package
    from causal_conv1d.causal_conv1d_interface import causal_conv1d_fn
    from mamba_ssm.ops.selective_scan_interface import mamba_inner_fn, selective_scan_fn
    torch.library.custom_op = library
    from transformers.models.falcon_mamba import modeling_falcon_mamba
    from transformers.models.jamba import modeling_jamba
    from transformers.models.mamba import modeling_mamba

    for module in (modeling_mamba, modeling_falcon_mamba, modeling_jamba):
        module.mamba_inner_fn = mamba_inner_fn
        module.causal_conv1d_fn = lambda x, weight, bias=None, activation=None, **kwargs: \
            causal_conv1d_fn(x, weight, bias, activation=activation)
        module.mamba_selective_scan = lambda u, dt, a, b, c, D=None, z=None, delta_bias=None, delta_softplus=False, **kwargs: \
            selective_scan_fn(u, dt, a, b, c, D, z, delta_bias, delta_softplus)


TRUE_LENGTH = [1]


def patch():
    """What reads values, or asks for a device, is answered as a batch without padding would."""
    F.scaled_dot_product_attention = sdpa
    torch.nn.functional.scaled_dot_product_attention = sdpa
    masking_utils.find_packed_sequence_indices = lambda position_ids: None
    masking_utils.fast_all = lambda tensor: True
    masking_utils._ignore_bidirectional_mask_sdpa = lambda padding, length, near=None: near is None or length < near
    nn.init.trunc_normal_ = lambda tensor, *args, **kwargs: tensor
    initialization.TORCH_INIT_FUNCTIONS["trunc_normal_"] = nn.init.trunc_normal_
    # Rates of dropped paths, which are 0 here; images of each sequence, of which there is one, or tokens of its prompt.
    FakeTensor.tolist = lambda tensor: [0.0 if tensor.is_floating_point() else TRUE_LENGTH[0]] * tensor.numel()
    F.grouped_mm = lambda x, w, offs=None: GroupedMM.apply(x, w, offs)
    pick = FakeTensor.__getitem__                                   # of images, those that are not all padding: all
    FakeTensor.__getitem__ = lambda t, i: t.clone() if getattr(i, "dtype", None) == torch.bool and i.dim() == 1 else pick(t, i)
    FakeTensor.masked_scatter = lambda x, mask, source: MaskedScatter.apply(x, mask, source)
    os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"            # as many image tokens as patches
    from transformers.integrations import moe
    moe._can_use_grouped_mm = lambda *args: True
    torch.utils.flop_counter.flop_registry[aten.convolution_backward] = convolution_backward_flops
    torch.utils.flop_counter.flop_registry[aten._euclidean_dist] = lambda x, y, *args, **kwargs: 2 * len(x) * y.numel()
    torch.utils.flop_counter.flop_registry[torch.ops.mfuplan.grouped] = grouped_flops
    torch.utils.flop_counter.flop_registry[torch.ops.mfuplan.grouped_wgrad] = \
        lambda x, g, w, **kwargs: 2 * x.size(0) * x.size(1) * g.size(1)


# ---------------------------------------------------------------- configurations

DEFAULTS = dict(batch=2, seq=512, precision="bf16", attention="sdpa", checkpoint="none", optimizer="adamw",
                accum=1, runtime="eager", loop="trainer", dims="", base="", adapter="", trainable="")


def row(id, model, **fields):
    return dict(id=id, model=model, **{**DEFAULTS, **fields})


def cases():
    """model: the name of a file in configs/, or nanogpt or torchvision-vit with `dims`."""
    pure, ckpt, eager, comp = (dict(precision="bf16-pure"), dict(checkpoint="full"), dict(attention="eager"),
                               dict(runtime="compile"))
    # ---- every decoder: the ways to train it
    decoders = ["gpt2", "llama", "llama-gqa", "mistral", "qwen2", "qwen3", "gemma"]
    for m in decoders:
        b = dict(batch=4 if m == "gpt2" else 2, seq=1024 if m != "gemma" else 512)
        yield row(f"{m}-amp", m, **b)
        yield row(f"{m}-pure", m, **b, **pure)
        yield row(f"{m}-amp-eager", m, **{**b, "seq": 512}, **eager)
        yield row(f"{m}-pure-eager", m, **{**b, "seq": 512}, **pure, **eager)
        yield row(f"{m}-amp-ckpt", m, **b, **ckpt)
        yield row(f"{m}-pure-ckpt", m, **b, **pure, **ckpt)
        yield row(f"{m}-amp-compile", m, **b, **comp)
        yield row(f"{m}-pure-compile", m, **b, **pure, **comp)
        yield row(f"{m}-pure-small", m, batch=1, seq=256, **pure)
    for m, n in (("gpt2", 1), ("gpt2", 3), ("llama", 2), ("qwen3", 3), ("mixtral", 1)):  # the first n layers alone
        yield row(f"{m}-amp-ckpt-{n}", m, trainable=f"checkpoint_layers={n}", **ckpt)
        yield row(f"{m}-pure-ckpt-{n}", m, trainable=f"checkpoint_layers={n}", **pure, **ckpt)
    for m in ("gemma2", "gemma2-nocap"):
        yield row(f"{m}-amp", m)
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-amp-compile", m, **comp)
    yield row("gemma2-pure-compile", "gemma2", **pure, **comp)
    yield row("gemma2-amp-ckpt", "gemma2", **ckpt)
    yield row("gemma2-pure-small", "gemma2", batch=1, seq=256, **pure)
    yield row("mixtral-pure", "mixtral", **pure)
    yield row("mixtral-pure-ckpt", "mixtral", **pure, **ckpt)
    yield row("mixtral-amp-ckpt", "mixtral", **ckpt)
    yield row("mixtral-pure-eager", "mixtral", **pure, **eager)
    yield row("mixtral-small", "mixtral", batch=1, seq=256, **pure)

    # ---- GPT-2's keys
    yield row("gpt2-gelu-amp", "gpt2-gelu", batch=8, seq=512)
    yield row("gpt2-nodrop-amp", "gpt2-nodrop", batch=4, seq=1024)
    yield row("gpt2-nodrop-compile", "gpt2-nodrop", batch=4, seq=1024, **comp)
    yield row("gpt2-dropouts-amp-eager", "gpt2-dropouts", batch=4, seq=512, **eager)
    yield row("gpt2-dropouts-amp", "gpt2-dropouts", batch=4, seq=512)
    yield row("gpt2-short", "gpt2", batch=8, seq=384)
    yield row("gpt2-keep", "gpt2", batch=4, seq=1024, loop="keep")
    yield row("gpt2-fp32", "gpt2-nodrop", batch=4, seq=512, precision="fp32")
    yield row("gpt2-fp16", "gpt2", batch=4, seq=512, precision="fp16")
    yield row("gpt2-accum", "gpt2", batch=4, seq=1024, accum=3)
    yield row("gpt2-sgd", "gpt2", batch=4, seq=512, optimizer="sgd")
    yield row("gpt2-foreach", "gpt2", batch=1, seq=128, optimizer="adamw-foreach")
    yield row("gpt2-odd", "gpt2-odd", batch=3, seq=333)
    yield row("gpt2-odd-eager", "gpt2-odd", batch=3, seq=333, **eager)
    yield row("gpt2-untied", "gpt2-untied", batch=2, seq=512)

    # ---- Llama's keys
    yield row("llama-bias-pure", "llama-bias", seq=1024, **pure)
    yield row("llama-relu-pure", "llama-relu", seq=1024, **pure)
    yield row("llama-gelutanh-amp", "llama-gelutanh", seq=1024)
    yield row("llama-gelunew-pure", "llama-gelunew", seq=1024, **pure)
    yield row("llama-drop-pure-eager", "llama-drop", **pure, **eager)
    yield row("llama-drop-pure", "llama-drop", **pure)
    yield row("llama-headdim-pure", "llama-headdim", seq=768, **pure)
    yield row("llama-untied-small", "llama-untied", batch=1, seq=256, **pure)
    yield row("llama-tied-sgd", "llama-gqa", batch=1, seq=512, optimizer="sgd", **pure)
    yield row("llama-tied-momentum", "llama-gqa", batch=1, seq=512, optimizer="sgd-momentum")
    yield row("llama-tied-accum", "llama-gqa", batch=1, seq=512, accum=4, **pure)
    yield row("llama-tied-foreach", "llama-gqa", batch=1, seq=512, optimizer="adamw-foreach", **pure)
    # ---- each weight updated in backward, by hooks behind its gradient
    hooks = dict(loop="hooks")
    yield row("llama-hooks-pure", "llama-gqa", batch=1, seq=512, **hooks, **pure)
    yield row("llama-hooks-ckpt", "llama", seq=1024, **hooks, **pure, **ckpt)
    for name in ("muon", "galore", "galore8bit", "apollo", "apollo-mini", "soap"):
        yield row(f"llama-{name}", "llama", batch=1, seq=128, optimizer=name)
        yield row(f"llama-{name}-pure", "llama", batch=1, seq=128, optimizer=name, **pure)
        yield row(f"qwen2-{name}-pure", "qwen2", batch=1, seq=64, optimizer=name, **pure)
    yield row("llama-galore-512", "llama", batch=1, seq=128, optimizer="galore", dims="optimizer_rank=512", **pure)
    yield row("llama-apollo-512", "llama", batch=1, seq=128, optimizer="apollo", dims="optimizer_rank=512")
    yield row("llama-galore-hooks", "llama", batch=1, seq=128, optimizer="galore", **hooks, **pure)
    yield row("qwen2-apollo-hooks", "qwen2", batch=1, seq=64, optimizer="apollo", **hooks, **pure)
    yield row("llama-loop", "llama", batch=1, seq=128, optimizer="adamw-loop")
    yield row("llama-hooks-sgd", "llama", batch=1, seq=128, optimizer="sgd", **hooks, **pure)
    yield row("llama-hooks-foreach", "llama", batch=1, seq=128, optimizer="adamw-foreach", **hooks, **pure)
    yield row("gpt2-hooks-amp", "gpt2", batch=1, seq=256, **hooks)
    yield row("gpt2-hooks-momentum", "gpt2", batch=2, seq=128, optimizer="sgd-momentum", **hooks)
    yield row("llama-fp32", "llama", seq=512, precision="fp32")
    yield row("llama-gqa-fp32", "llama-gqa", batch=1, seq=512, precision="fp32")
    yield row("llama-fp16", "llama-gqa", seq=1024, precision="fp16")
    yield row("llama-keep", "llama-gqa", seq=1024, loop="keep", **pure)
    yield row("llama-long", "llama", batch=1, seq=4096, **pure)
    yield row("llama-odd", "llama-odd", batch=3, seq=777, **pure)
    yield row("llama-odd-amp", "llama-odd", batch=3, seq=777)
    yield row("llama-fp32-compile", "llama", seq=512, precision="fp32", **comp)
    yield row("llama-amp-eager-compile", "llama", **eager, **comp)
    yield row("llama-gqa-pure-eager-compile", "llama-gqa", **pure, **eager, **comp)
    yield row("llama-relu-compile", "llama-relu", seq=1024, **pure, **comp)
    yield row("llama-seqcls", "llama-seqcls", batch=4, seq=512, **pure)
    # ---- the others'
    yield row("mistral-window-pure", "mistral-window", batch=1, seq=1024, **pure)
    yield row("mistral-window-amp", "mistral-window", batch=1, seq=1024)
    yield row("mistral-window-eager", "mistral-window", batch=1, seq=512, **pure, **eager)
    yield row("qwen2-tied-small", "qwen2", batch=1, seq=128, accum=2, **pure)
    yield row("qwen2-untied", "qwen2-untied", seq=1024)
    yield row("qwen3-bias", "qwen3-bias", seq=1024, **pure)
    yield row("qwen3-fp16", "qwen3", seq=512, precision="fp16")
    yield row("gemma-bias", "gemma-bias", **pure)
    yield row("gemma-fp32", "gemma-bias", batch=1, seq=256, precision="fp32")
    # ---- BERT
    for m in ("bert-mlm", "bert-cls", "bert-token", "bert-base", "bert-pretraining"):
        if m != "bert-base":
            yield row(f"{m}-amp", m, batch=16, seq=128)
            yield row(f"{m}-pure", m, batch=8, seq=256, **pure)
    yield row("bert-mlm-amp-eager", "bert-mlm", batch=4, seq=512, **eager)
    yield row("bert-mlm-pure-eager", "bert-mlm", batch=4, seq=512, **pure, **eager)
    yield row("bert-mlm-nodrop", "bert-mlm-nodrop", batch=8, seq=512)
    yield row("bert-mlm-nodrop-compile", "bert-mlm-nodrop", batch=8, seq=512, **comp)
    yield row("bert-mlm-compile", "bert-mlm", batch=16, seq=128, **comp)
    yield row("bert-mlm-pure-compile", "bert-mlm", batch=16, seq=128, **pure, **comp)
    yield row("bert-cls-compile", "bert-cls", batch=16, seq=128, **comp)
    yield row("bert-mlm-ckpt", "bert-mlm", batch=16, seq=256, **ckpt)
    yield row("bert-gelunew", "bert-gelunew", batch=8, seq=256)
    yield row("bert-long", "bert-long", batch=4, seq=1024)
    yield row("bert-mlm-fp32", "bert-mlm", batch=8, seq=128, precision="fp32")
    yield row("bert-dropouts-eager", "bert-dropouts", batch=4, seq=256, **eager)
    # ---- models of their real depth
    yield row("gpt2-12-amp", "gpt2-12", batch=8, seq=1024)
    yield row("gpt2-12-pure-sgd", "gpt2-12", batch=6, seq=640, optimizer="sgd", **pure)
    yield row("gpt2-12-compile", "gpt2-12", batch=8, seq=1024, **comp)
    yield row("gpt2-12-ckpt-accum", "gpt2-12", batch=8, seq=1024, accum=2, **ckpt)
    yield row("bert-12-amp", "bert-12", batch=16, seq=512)
    yield row("bert-12-compile", "bert-12", batch=16, seq=512, **comp)
    yield row("llama-1b-amp", "llama-1b", batch=1, seq=2048)
    yield row("llama-1b-pure", "llama-1b", batch=2, seq=2048, **pure)
    yield row("llama-1b-pure-ckpt", "llama-1b", batch=4, seq=2048, **pure, **ckpt)
    yield row("llama-1b-compile", "llama-1b", batch=2, seq=2048, **comp)
    yield row("llama-1b-pure-eager", "llama-1b", batch=1, seq=1024, **pure, **eager)
    yield row("qwen2-05b-amp", "qwen2-05b", batch=1, seq=1536)
    yield row("qwen2-05b-fp16-eager", "qwen2-05b", batch=1, seq=512, precision="fp16", **eager)
    yield row("qwen3-06b-pure", "qwen3-06b", batch=1, seq=1024, accum=2, **pure)
    yield row("qwen3-06b-amp-eager", "qwen3-06b", batch=1, seq=768, **eager)
    yield row("gemma2-8-pure", "gemma2-8", batch=1, seq=1024, **pure)
    yield row("gemma2-8-amp-momentum", "gemma2-8", batch=1, seq=640, optimizer="sgd-momentum")
    yield row("gemma2-8-compile", "gemma2-8", batch=1, seq=1024, **comp)
    yield row("mixtral-6-pure-ckpt", "mixtral-6", batch=2, seq=768, **pure, **ckpt)
    yield row("mistral-6-window-pure", "mistral-6", batch=2, seq=1536, **pure)
    yield row("mistral-6-window-amp-ckpt", "mistral-6", batch=2, seq=1536, **ckpt)
    yield row("gpt2-seqcls", "gpt2-seqcls", batch=8, seq=256)
    yield row("gemma-seqcls", "gemma-seqcls", batch=4, seq=256, **pure)
    yield row("qwen3-seqcls", "qwen3-seqcls", batch=4, seq=256)
    yield row("bert-qa", "bert-qa", batch=8, seq=384)
    yield row("vit-12-amp", "torchvision-vit", batch=32, seq=197, loop="own")
    yield row("vit-12-pure", "torchvision-vit", batch=64, seq=197, loop="own", **pure)
    yield row("nanogpt-12-amp", "nanogpt", batch=12, seq=1024, accum=5, **dict(loop="keep"))
    yield row("nanogpt-medium-pure", "nanogpt", batch=4, seq=1024, dims="n_layer=24 n_head=16 n_embd=1024",
              **dict(loop="keep"), **pure)
    # ---- DINOv2
    for m in ("dinov2", "dinov2-swiglu"):
        yield row(f"{m}-amp", m, batch=32, seq="")
        yield row(f"{m}-pure", m, batch=32, seq="", **pure)
        yield row(f"{m}-amp-ckpt", m, batch=32, seq="", **ckpt)
    # ---- two towers, whose loss compares all pairs of a batch
    for m, t in (("clip", 77), ("clip-l", 77), ("siglip", 64)):
        yield row(f"{m}-amp", m, batch=64, seq=t)
        yield row(f"{m}-pure", m, batch=64, seq=t, **pure)
        yield row(f"{m}-amp-ckpt", m, batch=64, seq=t, **ckpt)
        if m != "siglip":               # there inductor makes sums of the products of its one query
            yield row(f"{m}-amp-compile", m, batch=64, seq=t, **comp)
    # ---- a tower of images in front of a decoder
    frozen = dict(trainable="trainable=all-but-vision")
    yield row("llava-amp", "llava", batch=2, seq=1024)
    yield row("llava-frozen-amp", "llava", batch=2, seq=1024, **frozen)
    yield row("llava-frozen-pure", "llava", batch=2, seq=1024, **pure, **frozen)
    yield row("llava-frozen-amp-ckpt", "llava", batch=2, seq=1024, **ckpt, **frozen)
    yield row("llava-projector-pure", "llava", batch=2, seq=1024, **pure, trainable="trainable=projector")
    yield row("llava-qwen2-frozen-pure", "llava-qwen2", batch=2, seq=1024, **pure, **frozen)
    for m, t in (("gemma3-vl", 768), ("paligemma", 512), ("paligemma2", 512), ("idefics3", 512), ("smolvlm", 512)):
        yield row(f"{m}-amp", m, seq=t)
        yield row(f"{m}-pure", m, seq=t, **pure)
        yield row(f"{m}-pure-ckpt", m, seq=t, **pure, **ckpt)
        yield row(f"{m}-frozen-amp", m, seq=t, **frozen)
    for m, t in (("internvl", 512), ("internvl-rms", 512), ("mistral3", 512), ("llava-pixtral", 1024), ("llava-next", 3072), ("qwen3-vl", 512)):
        yield row(f"{m}-amp", m, seq=t)
        yield row(f"{m}-pure", m, seq=t, **pure)
        yield row(f"{m}-pure-ckpt", m, seq=t, **pure, **ckpt)
        yield row(f"{m}-frozen-amp", m, seq=t, **frozen)
    for m in ("qwen3-vl-moe", "llama4"):
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-pure-long", m, batch=1, seq=2048, **pure)
    # ---- state spaces
    yield row("mamba2-amp", "mamba2")
    yield row("mamba2-pure", "mamba2", **pure)
    yield row("mamba2-amp-ckpt", "mamba2", **ckpt)
    yield row("mamba2-fp32", "mamba2", batch=4, seq=256, precision="fp32")
    yield row("mamba2-groups-pure", "mamba2-groups", batch=4, seq=1024, **pure)
    yield row("mamba2-groups-amp", "mamba2-groups", batch=4, seq=1024)
    yield row("mamba2-groups-pure-ckpt", "mamba2-groups", batch=4, seq=1024, **pure, **ckpt)
    # ---- state spaces beside attention
    yield row("bamba-amp", "bamba")
    yield row("bamba-pure", "bamba", **pure)
    yield row("bamba-amp-ckpt", "bamba", **ckpt)
    yield row("falcon_h1-amp", "falcon_h1")
    yield row("falcon_h1-pure", "falcon_h1", **pure)
    yield row("falcon_h1-amp-ckpt", "falcon_h1", **ckpt)
    yield row("bamba-fp32", "bamba", batch=4, seq=256, precision="fp32")
    for m in ("mamba", "falcon_mamba"):
        yield row(f"{m}-amp", m)
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-long", m, batch=1, seq=4096, **pure)
        yield row(f"{m}-amp-ckpt", m, batch=4, seq=1024, **ckpt)
        yield row(f"{m}-fp32", m, batch=4, seq=256, precision="fp32")
    yield row("jamba-pure", "jamba", **pure)
    yield row("jamba-pure-ckpt", "jamba", **pure, **ckpt)
    yield row("jamba-pure-long", "jamba", batch=1, seq=4096, **pure)
    yield row("jamba-pure-short", "jamba", batch=4, seq=256, **pure)
    for b in ("granitemoehybrid", "granitemoehybrid-dense"):
        yield row(f"{b}-pure", b, **pure)
        yield row(f"{b}-pure-ckpt", b, **pure, **ckpt)
        yield row(f"{b}-pure-short", b, batch=4, seq=256, **pure)
    yield row("granitemoehybrid-dense-amp", "granitemoehybrid-dense")
    # ---- layers of one part each; experts without a gate, on narrower rows
    for b in ("nemotron_h", "nemotron_h-moe", "nemotron_h-latent"):
        yield row(f"{b}-pure", b, **pure)
        yield row(f"{b}-pure-ckpt", b, **pure, **ckpt)
        yield row(f"{b}-pure-short", b, batch=4, seq=256, **pure)
    yield row("nemotron_h-amp", "nemotron_h")
    # ---- ReLU squared
    for b in ({}, pure, ckpt, dict(**pure, **ckpt), eager, dict(precision="fp32", batch=1)):
        yield row("-".join(["nemotron", *(str(v) for v in b.values())]), "nemotron", **b)
    # ---- a tower of images with windows
    for m in ("qwen2-vl", "qwen2.5-vl"):
        yield row(f"{m}-amp", m)
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-pure-long", m, batch=1, seq=2048, **pure)
    # ---- the gated delta rule beside gated attention
    for m in ("qwen3-next", "qwen3-next-8", "qwen3.5", "qwen3.5-vl", "olmo-hybrid"):
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-pure-long", m, batch=1, seq=2048, **pure)
    yield row("olmo-hybrid-nope-pure-ckpt", "olmo-hybrid-nope", **pure, **ckpt)
    # ---- windows in three of four layers; norms of q and k
    for m in ("olmo3", "exaone4", "hunyuan", "ministral"):
        yield row(f"{m}-amp", m)
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-amp-eager", m, **eager)
    for m in ("cwm", "jais2", "bitnet", "lfm2", "apertus"):
        yield row(f"{m}-amp", m)
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
    for m in ("granitemoeshared", "minimax-m2", "dots1", "afmoe"):
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-pure-short", m, batch=4, seq=256, **pure)
    # ---- layers that read another's keys and values, heads of two widths, a second table with a part for each layer
    for m in ("gemma4", "gemma4-dense", "gemma3n", "gemma3n-dense"):
        yield row(f"{m}-amp", m)
        yield row(f"{m}-pure", m, **pure)
        if m != "gemma3n":              # whose share of a row asks for a device
            yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-amp-eager", m, **eager)
    yield row("gemma4-towers-pure", "gemma4-towers", **pure)
    yield row("gemma3n-towers-pure", "gemma3n-towers", **pure)
    yield row("gemma3n-towers-amp", "gemma3n-towers")
    yield row("gemma4-moe-pure", "gemma4-moe", **pure)
    yield row("gemma4-moe-pure-ckpt", "gemma4-moe", **pure, **ckpt)
    yield row("gemma4-moe-pure-short", "gemma4-moe", batch=4, seq=256, **pure)
    # ---- experts that all compute all tokens, chunks, layers that do not rotate
    for m in ("llama4-text", "llama4-text-2"):
        yield row(f"{m}-pure", m, **pure)
        yield row(f"{m}-pure-ckpt", m, **pure, **ckpt)
        yield row(f"{m}-pure-short", m, batch=4, seq=256, **pure)
    # ---- torchvision
    small = "n_layer=6"
    for b, more in ((32, {}), (16, pure), (32, ckpt), (8, dict(precision="fp32")), (32, comp),
                    (16, dict(**pure, **comp))):
        name = "-".join(["vit", more.get("precision", "amp"), *(k for k in ("ckpt", "compile")
                                                                if k == "ckpt" and more.get("checkpoint") == "full"
                                                                or k == "compile" and "runtime" in more)])
        yield row(name, "torchvision-vit", batch=b, seq=197, dims=small, loop="own", **more)
    yield row("vit-l-amp", "torchvision-vit", batch=8, seq=197, dims="n_layer=4 n_embd=1024 n_head=16", loop="own")
    yield row("vit-b-384", "torchvision-vit", batch=4, seq=577, dims="n_layer=4 image=384", loop="own")
    yield row("vit-b-32", "torchvision-vit", batch=32, seq=50, dims="n_layer=4 patch=32", loop="own")
    # ---- nanoGPT
    nano = dict(loop="keep")
    yield row("nanogpt-amp", "nanogpt", batch=8, seq=1024, dims="n_layer=6", **nano)
    yield row("nanogpt-accum", "nanogpt", batch=8, seq=1024, accum=3, dims="n_layer=6", **nano)
    yield row("nanogpt-dropout", "nanogpt", batch=8, seq=512, dims="n_layer=6 dropout=0.2", **nano)
    yield row("nanogpt-bias-fp16", "nanogpt", batch=8, seq=512, precision="fp16", dims="n_layer=6 bias=1", **nano)
    yield row("nanogpt-math", "nanogpt", batch=4, seq=512, attention="eager", dims="n_layer=6", **nano)
    yield row("nanogpt-char", "nanogpt", batch=64, seq=256, dims="n_layer=6 n_head=6 n_embd=384 vocab_size=65 dropout=0.2", **nano)
    yield row("nanogpt-fp32", "nanogpt", batch=4, seq=512, precision="fp32", dims="n_layer=6", **nano)
    yield row("nanogpt-sgd-small", "nanogpt", batch=1, seq=128, optimizer="sgd", dims="n_layer=6", **nano)
    yield row("nanogpt-compile", "nanogpt", batch=8, seq=1024, dims="n_layer=4", **nano, **comp)
    yield row("nanogpt-bias-compile", "nanogpt", batch=6, seq=1024, dims="n_layer=4 bias=1", **nano, **comp)
    yield row("nanogpt-dropout-compile", "nanogpt", batch=16, seq=512, dims="n_layer=4 dropout=0.2", **nano, **comp)
    yield row("nanogpt-math-compile", "nanogpt", batch=5, seq=768, attention="eager", dims="n_layer=4 bias=1", **nano, **comp)
    hand = "n_layer=6 bias=1 norm_kind=4 activation=6"
    yield row("nanogpt-hand", "nanogpt", batch=8, seq=512, dims=hand, **nano)
    yield row("nanogpt-hand-pure", "nanogpt", batch=4, seq=1024, attention="eager", dims=hand, **nano, **pure)
    yield row("nanogpt-hand-fp32", "nanogpt", batch=2, seq=512, precision="fp32", dims=hand, **nano)
    yield row("nanogpt-ckpt", "nanogpt", batch=16, seq=1024, dims="n_layer=6", **nano, **ckpt)
    yield from adapter_cases()
    yield from preference_cases()
    yield from policy_cases()
    yield from family_cases()
    yield from encoder_cases()
    yield from diffusion_cases()


FAMILIES = ["qwen3-moe", "qwen3-moe-dense", "qwen2-moe", "olmoe", "granitemoe", "deepseek-v2", "deepseek-v3", "gpt-oss", "gemma3",
            "phi", "phi3", "cohere", "gpt-neox", "falcon", "gptj", "opt", "bloom", "starcoder2", "stablelm", "olmo2",
            "granite", "smollm3", "glm4", "glm4-moe", "cohere2", "starcoder",
            "youtu", "minicpm3", "hyperclovax", "mellum-moe", "hy3-moe", "mistral4-moe",
            "kimi-linear-moe"]


def family_cases():
    """Every family of decoders that has no rows above: autocast (not of experts, see README.md), 16 bit,
    checkpointing, attention by its parts."""
    pure = dict(precision="bf16-pure")
    for m in FAMILIES:
        if "moe" in m or m in ("deepseek-v2", "deepseek-v3", "gpt-oss"):
            yield row(f"{m}-small", m, batch=1, seq=256, **pure)
        else:
            yield row(f"{m}-amp", m, seq=768)
        yield row(f"{m}-pure", m, seq=768, **pure)
        yield row(f"{m}-pure-ckpt", m, batch=4, seq=768, checkpoint="full", **pure)
        yield row(f"{m}-pure-eager", m, batch=3, seq=384, attention="eager", **pure)


def method_cases(pure, ckpt):
    """The other methods of peft."""
    half = dict(base="bf16", batch=2, seq=1024)
    qv, every = " lora_targets=q_proj,v_proj", " lora_targets=" + ",".join(MODULES["attention"] + MODULES["mlp"])
    sized = dict(adalora=12, vera=256, miss=64, loha=32, lokr=32, oft=32, boft=8, hra=8, fourierft=1000, waveft=2592, randlora=32,
                 vblora=4, c3a=64, shira=32, delora=8, hira=32, gralora=32, pvera=256, mica=32, deft=32, para=32, glora=8, peanut=32, psoft=256,
                 tinylora=8, unilora=32)
    for method, size in sized.items():
        yield row(f"{method}-llama-qv-pure", "llama", adapter=f"adapter={method} lora={size}" + qv, **pure, **half)
        yield row(f"{method}-llama-all-amp", "llama", adapter=f"adapter={method} lora={size // 4}" + every, **half)
        if method != "glora":                                   # of products with a bias it is another
            yield row(f"{method}-qwen2-all-pure-ckpt", "qwen2", adapter=f"adapter={method} lora={size // 2}" + every, **pure, **half, **ckpt)
    yield row("road-llama-qv-pure", "llama", adapter="adapter=road" + qv, **pure, **half)
    yield row("road-llama-all-amp", "llama", adapter="adapter=road" + every, **half)
    yield row("road-qwen2-all-pure-ckpt", "qwen2", adapter="adapter=road" + every, **pure, **half, **ckpt)
    yield row("miss-mini-llama-qv-pure", "llama", adapter="adapter=miss-mini lora=64" + qv, **pure, **half)
    yield row("miss-mini-llama-qv-amp", "llama", adapter="adapter=miss-mini lora=16" + qv, **half)
    for method in ("road-2", "beft", "glora-vector", "tinylora-tied"):
        yield row(f"{method}-llama-qv-pure", "llama", adapter=f"adapter={method}" + qv, **pure, **half)
        yield row(f"{method}-llama-all-amp", "llama", adapter=f"adapter={method}" + every, **half)
    yield row("lora-fa-llama-qv-pure", "llama", adapter="adapter=lora-fa lora=32" + qv, **pure, **half)
    yield row("lora-fa-llama-all-drop", "llama", adapter="adapter=lora-fa lora=8 lora_dropout=0.05" + every, **half)
    yield row("oft-llama-qv-blocks", "llama", adapter="adapter=oft adapter_blocks=16" + qv, **pure, **half)
    yield row("lokr-llama-qv-factor", "llama", adapter="adapter=lokr lora=16 lokr_factor=4" + qv, **pure, **half)
    yield row("vera-llama-all-drop", "llama", adapter="adapter=vera lora=64 lora_dropout=0.05" + every, **pure, **half)
    kvd, fed = "adapter=ia3 lora_targets=k_proj,v_proj,down_proj", " ia3_inputs=" + ",".join(MODULES["mlp"])
    yield row("ia3-llama-pure", "llama", adapter=kvd, **pure, **half)
    yield row("ia3-llama-all-amp", "llama", adapter="adapter=ia3" + every + fed, **half)
    yield row("ia3-llama-mlp-down-pure", "llama", adapter="adapter=ia3 lora_targets=mlp", **pure, **half)
    yield row("ia3-qwen2-pure-ckpt", "qwen2", adapter=kvd, **pure, **half, **ckpt)
    yield row("ln-llama-pure", "llama", adapter="adapter=ln-tuning", **pure, **half)
    yield row("ln-qwen2-amp", "qwen2", adapter="adapter=ln-tuning", **half)
    yield row("ln-llama-pure-ckpt", "llama", adapter="adapter=ln-tuning", **pure, **half, **ckpt)
    for method in ("prompt-tuning", "p-tuning"):
        yield row(f"{method}-llama-pure", "llama", adapter=f"adapter={method} lora=200", **pure, **half)
        yield row(f"{method}-llama-amp", "llama", adapter=f"adapter={method} lora=20", **half)
        yield row(f"{method}-qwen2-pure-ckpt", "qwen2", adapter=f"adapter={method} lora=100", **pure, **half, **ckpt)
    yield row("p-tuning-llama-narrow", "llama", adapter="adapter=p-tuning lora=20 prompt_encoder=256", **half)
    for name, more in (("prefix", ""), ("prefix-projected", " prompt_encoder=512")):   # refused with checkpointing
        prefix = lambda n: f"adapter=prefix-tuning lora={n}" + more
        yield row(f"{name}-llama-pure", "llama", adapter=prefix(200), **pure, **half)
        yield row(f"{name}-llama-amp", "llama", adapter=prefix(20), **half)
        yield row(f"{name}-qwen2-pure", "qwen2", adapter=prefix(100), **pure, **half)
        yield row(f"{name}-llama-eager", "llama", adapter=prefix(40), attention="eager", base="bf16", batch=2, seq=512)


def adapter_cases():
    """adapter: settings of peft's LoraConfig as `lora` has them; base: the type in which the frozen weights
    were loaded; trainable: what trains without adapters."""
    pure, ckpt, drop = dict(precision="bf16-pure"), dict(checkpoint="full"), " lora_dropout=0.05"
    qv, every, mlp = ("lora=16 lora_targets=" + t for t in ("q_proj,v_proj", "all-linear", "mlp"))
    half = dict(base="bf16", batch=2, seq=1024)
    yield row("lora-llama-qv", "llama", adapter=qv, **half)
    yield row("lora-llama-all", "llama", adapter=every, **half)
    yield row("lora-llama-all-dropout", "llama", adapter=every + drop, **half)
    yield row("lora-llama-all-ckpt", "llama", adapter=every, **half, **ckpt)
    yield row("lora-llama-all-dropout-ckpt", "llama", adapter=every + drop, **half, **ckpt)
    yield row("lora-llama-fp32base", "llama", adapter=every, batch=2, seq=1024, base="fp32")
    yield row("lora-llama-fp32base-ckpt", "llama", adapter=every, batch=2, seq=1024, base="fp32", **ckpt)
    yield row("lora-llama-pure-qv", "llama", adapter=qv, **pure, **half)
    yield row("lora-llama-pure-all", "llama", adapter=every, **pure, **half)
    yield row("lora-llama-pure-mlp", "llama", adapter=mlp, **pure, **half)
    yield row("lora-llama-pure-dropout", "llama", adapter=every + drop, **pure, **half)
    yield row("lora-llama-pure-ckpt", "llama", adapter=every, **pure, **half, **ckpt)
    yield row("lora-llama-pure16", "llama", adapter=every + " lora_dtype=16bit", **pure, **half)
    yield row("lora-llama-pure16-dropout-ckpt", "llama", adapter=every + drop + " lora_dtype=16bit", **pure, **half, **ckpt)
    yield row("lora-llama-accum", "llama", adapter=every, accum=2, **half)
    yield row("lora-llama-small", "llama", adapter=qv, base="bf16", batch=1, seq=128)
    yield row("lora-llama-eager", "llama", adapter=qv, attention="eager", base="bf16", batch=2, seq=512)
    yield row("lora-gqa-all", "llama-gqa", adapter=every, **half)
    yield row("lora-qwen2-all-ckpt", "qwen2", adapter=every + drop, **half, **ckpt)
    yield row("lora-qwen2-attention", "qwen2", adapter="lora=64 lora_targets=attention", **half)
    yield row("lora-qwen3-all", "qwen3", adapter=every, **half)
    yield row("lora-gemma-all", "gemma", adapter=every, base="bf16", batch=2, seq=512)
    yield row("lora-gemma-pure-ckpt", "gemma", adapter=every, **pure, base="bf16", batch=2, seq=512, **ckpt)
    yield row("lora-mistral-qv-ckpt", "mistral", adapter=qv + drop, **half, **ckpt)
    yield row("lora-gemma2-all", "gemma2", adapter=every, base="bf16", batch=2, seq=512)
    yield from method_cases(pure, ckpt)
    yield row("dora-llama-all", "llama", adapter=every + " dora=on", **half)
    yield row("dora-llama-qv-pure-ckpt", "llama", adapter=qv + " dora=on", **pure, **half, **ckpt)
    yield row("freeze-llama-norms", "llama", trainable="trainable=norms", batch=2, seq=1024)
    yield row("freeze-llama-norms-pure", "llama", trainable="trainable=norms", batch=2, seq=1024, **pure)
    yield row("freeze-llama-embeddings", "llama", trainable="trainable=embeddings", batch=2, seq=1024)
    yield row("freeze-llama-head-pure", "llama-untied", trainable="trainable=head", batch=2, seq=512, **pure)
    yield row("freeze-qwen2-biases-pure", "qwen2", trainable="trainable=biases", batch=2, seq=1024, **pure)
    yield row("freeze-llama-layers", "llama", trainable="trainable_layers=2", batch=2, seq=1024)
    yield row("freeze-llama-layers-ckpt", "llama", trainable="trainable_layers=1", batch=2, seq=1024, **ckpt)
    yield row("freeze-llama-middle", "llama", trainable="trainable_layers=1..2", batch=2, seq=1024)
    yield row("freeze-llama-middle-pure-ckpt", "llama", trainable="trainable_layers=1..1", batch=2, seq=1024, **pure, **ckpt)
    yield row("lora-llama-middle", "llama", adapter=qv + " trainable_layers=1..2", **half)
    for m in ("llama", "llama-gqa"):                            # the head with a table of its own, and with that of the tokens
        yield row(f"tokens-{m}-pure", m, adapter=qv + " trainable_tokens=16", **pure, **half)
        yield row(f"tokens-{m}-amp", m, adapter=qv + " trainable_tokens=64", **half)
        yield row(f"tokens-{m}-pure-ckpt", m, adapter=every + " trainable_tokens=4", **pure, **half, **ckpt)
        yield row(f"tokens-{m}-fp32base", m, adapter=qv + " trainable_tokens=16", base="fp32", batch=2, seq=512)
    yield row("lora-qwen2-own-biases", "qwen2", adapter=qv + " lora_bias=lora_only", **half)
    yield row("lora-qwen2-own-biases-ckpt", "qwen2", adapter=every + " lora_bias=lora_only", **half, **ckpt)


def preference_cases():
    """objective: pairs of answers; batch counts pairs.  The trainer is TRL's DPOTrainer."""
    pure, ckpt, lora = dict(precision="bf16-pure"), dict(checkpoint="full"), "lora=16 lora_targets=all-linear"
    dpo, cached = "objective=dpo", "objective=dpo reference=cached"
    yield row("dpo-llama-amp", "llama", trainable=dpo, batch=2, seq=512)
    yield row("dpo-llama-amp-ckpt", "llama", trainable=dpo, batch=2, seq=1024, **ckpt)
    yield row("dpo-llama-amp-cached", "llama", trainable=cached, batch=2, seq=512)
    yield row("dpo-llama-pure", "llama", trainable=dpo, batch=2, seq=512, **pure)
    yield row("dpo-llama-pure-long", "llama", trainable=dpo, batch=1, seq=2048, **pure)
    yield row("dpo-llama-pure-ckpt", "llama", trainable=dpo, batch=2, seq=1024, **pure, **ckpt)
    yield row("dpo-llama-pure-cached", "llama", trainable=cached, batch=2, seq=512, **pure)
    yield row("dpo-qwen2-pure", "qwen2", trainable=dpo, batch=1, seq=1024, **pure)
    yield row("dpo-gemma-pure-ckpt", "gemma", trainable=dpo, batch=1, seq=512, **pure, **ckpt)
    yield row("dpo-lora-llama-pure", "llama", adapter=lora, trainable=dpo, base="bf16", batch=2, seq=512, **pure)
    yield row("dpo-lora-llama-amp-ckpt", "llama", adapter=lora, trainable=dpo, base="bf16", batch=2, seq=1024, **ckpt)


def policy_cases():
    """objective=reward: TRL's RewardTrainer, batch counts pairs.  objective=grpo: the update of its GRPOTrainer."""
    pure, ckpt, lora = dict(precision="bf16-pure"), dict(checkpoint="full"), "lora=16 lora_targets=all-linear"
    reward, grpo = "objective=reward", "objective=grpo reference=none"
    yield row("reward-llama-amp", "llama", trainable=reward, batch=2, seq=512)
    yield row("reward-llama-pure", "llama", trainable=reward, batch=2, seq=1024, **pure)
    yield row("reward-qwen2-pure-ckpt", "qwen2", trainable=reward, batch=2, seq=1024, **pure, **ckpt)
    yield row("grpo-llama-amp", "llama", trainable=grpo, dims="completion=384", batch=4, seq=512)
    yield row("grpo-llama-pure", "llama", trainable=grpo, dims="completion=384", batch=4, seq=512, **pure)
    yield row("grpo-llama-pure-one", "llama", trainable=grpo, dims="completion=1024", batch=1, seq=2048, **pure)
    yield row("grpo-llama-pure-model", "llama", trainable="objective=grpo", dims="completion=768", batch=2, seq=1024, **pure)
    yield row("grpo-llama-amp-ckpt", "llama", trainable=grpo, dims="completion=512", batch=2, seq=1024, **ckpt)
    yield row("grpo-qwen2-pure-ckpt", "qwen2", trainable=grpo, dims="completion=256", batch=4, seq=1024, **pure, **ckpt)
    yield row("grpo-lora-llama-pure", "llama", adapter=lora, trainable=grpo, base="bf16", dims="completion=384", batch=4, seq=512, **pure)


def encoder_cases():
    """Encoders and encoder-decoders, whose two lengths differ."""
    pure, ckpt, eager = dict(precision="bf16-pure"), dict(checkpoint="full"), dict(attention="eager")
    for name, more in (("amp", {}), ("pure", pure), ("pure-ckpt", dict(**pure, **ckpt))):
        yield row(f"t5gemma-{name}", "t5gemma", batch=4, seq=192, dims="encoder_seq=512", attention="eager", **more)
    for m in ("t5", "t5-gated", "bart"):
        lengths = dict(seq=192, dims="encoder_seq=512")
        yield row(f"{m}-amp", m, batch=4, **lengths)
        yield row(f"{m}-pure", m, batch=8, **lengths, **pure)
        yield row(f"{m}-amp-eager", m, batch=4, **lengths, **eager)
        yield row(f"{m}-pure-ckpt", m, batch=8, **lengths, **pure, **ckpt)
    yield row("whisper-amp", "whisper", batch=4, seq=128)
    yield row("whisper-pure", "whisper", batch=4, seq=448, **pure)
    yield row("whisper-pure-eager", "whisper", batch=2, seq=256, **pure, **eager)
    yield row("whisper-amp-ckpt", "whisper", batch=8, seq=128, **ckpt)
    yield row("modernbert-amp", "modernbert", batch=8, seq=512)
    yield row("modernbert-pure", "modernbert", batch=8, seq=512, **pure)
    yield row("modernbert-pure-ckpt", "modernbert", batch=8, seq=512, **pure, **ckpt)
    yield row("modernbert-pure-eager", "modernbert", batch=4, seq=384, **pure, **eager)
    yield row("modernbert-short", "modernbert", batch=16, seq=64, **pure)
    for m in ("eurobert", "modernbert-decoder"):
        yield row(f"{m}-amp", m, batch=8, seq=384)
        yield row(f"{m}-pure", m, batch=8, seq=512, **pure)
        yield row(f"{m}-pure-ckpt", m, batch=8, seq=512, **pure, **ckpt)
    for m in ("roberta",):
        yield row(f"{m}-amp", m, batch=8, seq=384)
        yield row(f"{m}-pure", m, batch=8, seq=512, **pure)
        yield row(f"{m}-pure-eager", m, batch=4, seq=384, **pure, **eager)
    yield row("albert-cls-amp-one", "albert-cls", batch=1, seq=512)
    for m in ("albert", "albert-cls", "electra", "electra-cls", "megatron-bert", "rembert", "nomic-bert", "gte", "esm"):
        yield row(f"{m}-amp", m, batch=8, seq=384)
        yield row(f"{m}-pure", m, batch=8, seq=512, **pure)
    for m in ("layoutlm", "layoutlm-token"):
        yield row(f"{m}-amp", m, batch=8, seq=384, attention="eager")
        yield row(f"{m}-pure", m, batch=8, seq=512, attention="eager", **pure)
        yield row(f"{m}-sdpa", m, batch=8, seq=512, dims="padding_mask=1", **pure)
    yield row("mpnet-amp", "mpnet", batch=8, seq=384, attention="eager")
    yield row("mpnet-pure", "mpnet", batch=8, seq=512, attention="eager", **pure)
    for m in ("deberta-v2", "deberta-v2-mlm"):
        yield row(f"{m}-amp", m, batch=8, seq=384, attention="eager")
        yield row(f"{m}-pure", m, batch=8, seq=512, attention="eager", **pure)
        yield row(f"{m}-pure-ckpt", m, batch=4, seq=256, attention="eager", **pure, **ckpt)
    for m in ("dinov2-registers", "ijepa"):
        yield row(f"{m}-amp", m, batch=16, seq="")
        yield row(f"{m}-pure", m, batch=16, seq="", **pure)
    for m in ("mbart", "pegasus", "m2m100", "umt5"):
        yield row(f"{m}-amp", m, batch=4, **lengths)
        yield row(f"{m}-pure", m, batch=8, **lengths, **pure)
    for m in ("resnet-18", "resnet-50", "convnext", "hf-vit"):
        yield row(f"{m}-amp", m, batch=32, seq="")
        yield row(f"{m}-pure", m, batch=32, seq="", **pure)
        yield row(f"{m}-fp16", m, batch=16, seq="", precision="fp16", optimizer="sgd-momentum")
    for m in TIMM:                      # whose code multiplies the parts of attention itself
        parts = dict(seq="", attention="eager", dims="" if m in TOKENS else "channels_last=1")  # nobody counts cuDNN's copies
        yield row(f"{m}-amp", "timm/" + m, batch=16, **parts)
        yield row(f"{m}-pure", "timm/" + m, batch=32, **parts, **pure)
        yield row(f"{m}-fp16", "timm/" + m, batch=8, precision="fp16", optimizer="sgd-momentum", **parts)
    for m in TIMM_1:
        yield row(f"{m}-amp", "timm/" + m, batch=16, seq="")
        yield row(f"{m}-pure", "timm/" + m, batch=32, seq="", **pure)
    for m in TIMM_1_IMAGES:
        yield row(f"{m}-amp", "timm/" + m, batch=8, seq="", dims="channels_last=1")
        yield row(f"{m}-pure", "timm/" + m, batch=16, seq="", dims="channels_last=1", **pure)


TIMM_1 = ["eva_large_patch14_196", "eva_giant_patch14_224", "poolformer_s12", "convnextv2_tiny", "convnextv2_nano", "beit_base_patch16_224", "gmlp_s16_224", "gmixer_12_224", "resmlp_12_224", "vit_medium_patch16_reg4_gap_256", "vit_base_patch16_siglip_224", "vit_base_patch32_clip_quickgelu_224",
          "eva02_small_patch14_336", "eva02_base_patch14_448", "eva02_base_patch16_clip_224", "vit_small_patch16_rope_224", "vit_medium_patch16_rope_reg1_gap_256", "pvt_v2_b1", "pvt_v2_b2_li",
          "crossvit_tiny_240", "crossvit_9_dagger_240", "aimv2_large_patch14_224", "vit_pe_core_small_patch16_384", "vit_pe_lang_large_patch14_448"]
TIMM_1_IMAGES = ["maxvit_tiny_tf_224", "maxvit_rmlp_nano_rw_256", "coatnet_0_rw_224", "coatnet_nano_rw_224", "coatnet_0_224", "maxxvit_rmlp_nano_rw_256", "maxxvitv2_nano_rw_256",
                 "inception_next_atto", "inception_next_tiny", "hgnet_tiny", "hgnetv2_b4", "mobilenetv4_conv_small", "mobilenetv4_conv_medium", "caformer_s18", "convformer_s18",
                 "poolformerv2_s12", "repvit_m0_9", "repvit_m2", "convnext_nano_ols", "davit_tiny", "efficientformer_l1", "efficientformer_l3",
                 "ghostnet_100", "ghostnet_130", "resnetv2_50d_frn", "resnetv2_50d_evos",
                 "mambaout_femto", "mambaout_small_rw", "starnet_s1", "tiny_vit_5m_224", "tiny_vit_21m_384", "fasternet_t0",
                 "gcresnext26ts", "resnet50_clip", "dpn68", "dpn92", "mixnet_s", "mixnet_l",
                 "efficientnet_b3_g8_gn", "mobilenetv1_100h", "vitamin_small_224", "dla34", "dla60_res2net", "dla102x",
                 "volo_d1_224", "selecsls42b", "skresnet18", "skresnext50_32x4d", "legacy_seresnet18", "gernet_m"]
TOKENS = ["mixer_b16_224", "swin_tiny_patch4_window7_224", "deit_small_distilled_patch16_224", "swinv2_tiny_window8_256", "swinv2_cr_tiny_ns_224", "cait_xxs24_224", "pit_ti_distilled_224"]
TIMM = ["resnet50d", "resnext50_32x4d", "seresnet50", "wide_resnet50_2", "resnet50_gn", "resnetv2_50",
        "resnetv2_50x1_bitm", "regnety_032", "efficientnet_b0", "tf_efficientnet_b1", "densenet121", "vit_small_r26_s32_224", "resnetrs50", "resnetaa50d", "ecaresnet50d",
        "senet154", "legacy_seresnet50", "convnext_nano", "convnext_tiny_hnf", "convnext_atto_ols", "vgg11", "vgg16_bn", "efficientnetv2_rw_t", "efficientnet_es", "mobilenetv2_100", "tf_efficientnet_b0", "mnasnet_100", "xcit_nano_12_p16_224", "xcit_tiny_12_p8_224",
        "mobilenetv3_large_100", "lcnet_050", "nf_seresnet26", "nf_regnet_b0", "dm_nfnet_f0", "eca_nfnet_l0", "inception_v3", "resnest26d", "cs3darknet_m", "repvgg_a2", "convmixer_768_32",
        "xception41", "ese_vovnet19b_dw", "res2net50_26w_4s", "regnetz_c16", "mobilevitv2_100", "hrnet_w18_small", "rexnet_100",
        "twins_svt_small", "levit_192", "twins_pcpvt_small", "mobilevit_xs", "cspdarknet53", "darknet53", "cspresnet50", *TOKENS]


def diffusion_cases():
    """Diffusion transformers of diffusers on cached latents and prompts."""
    pure, ckpt = dict(precision="bf16-pure"), dict(checkpoint="full")
    for m in ("sd3", "sd35"):
        yield row(f"{m}-amp", m, batch=2, seq="", dims="image=512 text=333")
        yield row(f"{m}-pure", m, batch=4, seq="", dims="image=512 text=154", **pure)
        yield row(f"{m}-pure-ckpt", m, batch=2, seq="", dims="image=1024 text=333", **pure, **ckpt)
        yield row(f"{m}-amp-ckpt", m, batch=4, seq="", dims="image=512 text=154", **ckpt)
        yield row(f"{m}-pure-one", m, batch=1, seq="", dims="image=1024 text=333", **pure)
    yield row("wan-amp", "wan", batch=1, seq="", dims="frames=17 height=480 width=832")
    yield row("wan-pure", "wan", batch=1, seq="", dims="frames=33 height=480 width=832", **pure)
    yield row("wan-pure-two", "wan", batch=2, seq="", dims="frames=17 height=320 width=512", **pure)
    yield row("wan-pure-ckpt", "wan", batch=1, seq="", dims="frames=81 height=480 width=832", **pure, **ckpt)
    for kind in ("lerp", "foreach", "loop"):    # a running mean of the weights
        yield row(f"sd3-mean-{kind}", "sd3", batch=1, seq="", dims="image=256 text=77", trainable=f"ema={kind}")
        yield row(f"sd3-mean-{kind}-pure", "sd3", batch=1, seq="", dims="image=256 text=77", trainable=f"ema={kind}", **pure)
    for m in ("sd3", "flux"):                   # the autoencoder in the step
        vae = lambda image: f"image={image} text=154 autoencoder=1 channels_last=1"
        yield row(f"{m}-encodes-amp", m, batch=1, seq="", dims=vae(512))
        yield row(f"{m}-encodes-pure", m, batch=2, seq="", dims=vae(1024), **pure, **ckpt)
        yield row(f"{m}-encodes-fp32", m, batch=2, seq="", dims=vae(1024) + " autoencoder_fp32=1", **pure, **ckpt)
    for m in ("sd15", "sdxl"):                  # U-Nets, channels last: nobody counts cuDNN's copies
        size = lambda pixels: dict(seq="", dims=f"image={pixels} channels_last=1")
        yield row(f"{m}-amp", m, batch=4, **size(512))
        yield row(f"{m}-fp16", m, batch=2, precision="fp16", **size(768))
        yield row(f"{m}-pure", m, batch=4, **size(512), **pure)
        yield row(f"{m}-amp-ckpt", m, batch=2, **size(1024), **ckpt)
        yield row(f"{m}-pure-ckpt", m, batch=8, **size(512), **pure, **ckpt)
        yield row(f"{m}-fp32", m, batch=2, precision="fp32", **size(512))
        lora = dict(adapter="lora=16 lora_targets=to_k,to_q,to_v,to_out.0", base="bf16")     # the scripts' targets
        yield row(f"{m}-lora-amp", m, batch=4, **size(512), **lora)
        yield row(f"{m}-lora-amp-ckpt", m, batch=2, **size(1024), **lora, **ckpt)
        yield row(f"{m}-lora-16bit", m, batch=1, **size(1024), **{**lora, "adapter": lora["adapter"] + " lora_dtype=16bit"})
    for m, size in (("sd3", "image=512 text=333"), ("flux", "image=512 text=512"), ("wan", "frames=17 height=480 width=832")):
        prompts = dict(seq="", dims=size + " text_encoders=1")      # the encoders of prompts in the step
        yield row(f"{m}-prompts-amp", m, batch=2, **prompts)
        yield row(f"{m}-prompts-pure", m, batch=8 if m != "wan" else 2, **prompts, **pure, **ckpt)
    yield row("sd3-prompts-both", "sd3", batch=2, seq="", dims="image=1024 text=154 text_encoders=1 autoencoder=1 channels_last=1",
              **pure, **ckpt)
    yield row("flux-amp", "flux", batch=2, seq="", dims="image=512 text=512")
    yield row("flux-pure", "flux", batch=2, seq="", dims="image=512 text=512", **pure)
    yield row("flux-pure-one", "flux", batch=1, seq="", dims="image=1024 text=512", **pure)
    yield row("flux-pure-ckpt", "flux", batch=4, seq="", dims="image=512 text=512", **pure, **ckpt)
    yield row("sana-amp", "sana", batch=4, seq="", dims="image=1024 text=300")
    yield row("sana-pure", "sana", batch=4, seq="", dims="image=1024 text=300", **pure)
    yield row("sana-pure-ckpt", "sana", batch=8, seq="", dims="image=1024 text=300", **pure, **ckpt)
    for m in ("lumina2", "z-image"):
        yield row(f"{m}-amp", m, batch=2, seq="", dims="image=512 text=256")
        yield row(f"{m}-pure", m, batch=1, seq="", dims="image=1024 text=256", **pure)
        yield row(f"{m}-pure-ckpt", m, batch=4, seq="", dims="image=512 text=256", **pure, **ckpt)
    yield row("qwen-image-amp", "qwen-image", batch=2, seq="", dims="image=512 text=256")
    yield row("qwen-image-pure", "qwen-image", batch=1, seq="", dims="image=1024 text=256", **pure)
    yield row("qwen-image-pure-ckpt", "qwen-image", batch=4, seq="", dims="image=512 text=256", **pure, **ckpt)
    yield row("pixart-amp", "pixart", batch=2, seq="", dims="image=512 text=300")
    yield row("pixart-pure", "pixart", batch=4, seq="", dims="image=1024 text=300", **pure)
    yield row("pixart-pure-ckpt", "pixart", batch=4, seq="", dims="image=512 text=120", **pure, **ckpt)
    video = dict(seq="", dims="frames=49 height=480 width=720 text=226")
    yield row("cogvideox-amp", "cogvideox", batch=1, **video)
    yield row("cogvideox-pure", "cogvideox", batch=1, **video, **pure)
    yield row("cogvideox-pure-ckpt", "cogvideox", batch=2, **video, **pure, **ckpt)
    yield row("flux2-amp", "flux2", batch=2, seq="", dims="image=512 text=512")
    yield row("flux2-pure", "flux2", batch=2, seq="", dims="image=512 text=512", **pure)
    yield row("flux2-pure-one", "flux2", batch=1, seq="", dims="image=1024 text=512", **pure)
    yield row("flux2-pure-ckpt", "flux2", batch=4, seq="", dims="image=512 text=512", **pure, **ckpt)
    for m, size in (("uvit", "image=256"), ("uvit-512", "image=512")):
        tokens = lambda extra="": dict(seq="", dims=f"{size} channels_last=1{extra}")
        yield row(f"{m}-amp", m, batch=8, **tokens())
        yield row(f"{m}-pure", m, batch=8, **tokens(), **pure)
        yield row(f"{m}-fp16", m, batch=4, precision="fp16", **tokens(" text_encoders=1 autoencoder=1 autoencoder_fp32=1"))
        yield row(f"{m}-lora-amp", m, batch=16, **tokens(" text_encoders=1"), adapter="lora=16 lora_targets=to_k,to_q,to_v", base="bf16")


# ---------------------------------------------------------------- models

class Diffusion(nn.Module):
    """A transformer of diffusers, and the loss of its training scripts (flow matching: the noise minus the latents)."""

    def __init__(self, c, keys):
        super().__init__()
        self.transformer = getattr(diffusers, keys["_class_name"]).from_config(keys)
        for module in self.transformer.modules():           # as .to() does, which fake tensors do not
            for name, tensor in module.named_buffers(recurse=False):
                if tensor.is_floating_point() and name != "freqs_cos" and name != "freqs_sin":
                    setattr(module, name, tensor.to(torch.get_default_dtype()))
        self.transformer.train()
        if c["checkpoint"] == "full":
            self.transformer.enable_gradient_checkpointing(
                functools.partial(torch_oracle.run_block, "full"))
        self.vae = self.autoencoder(c) if "autoencoder=1" in c["dims"] else None
        self.text_encoders = nn.ModuleList(self.encoders(c, keys["_class_name"]) if "text_encoders=1" in c["dims"] else [])

    def encoders(self, c, name):
        """Those of prompts, frozen, in the scripts' weight_dtype."""
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.bfloat16 if c["precision"] != "fp32" else torch.float32)
        xxl = dict(d_model=4096, d_kv=64, num_heads=64, num_layers=24, d_ff=10240, feed_forward_proj="gated-gelu")
        if name.startswith("UVit"):
            found = [transformers.CLIPTextModelWithProjection(transformers.CLIPTextConfig(
                hidden_size=768, num_attention_heads=12, intermediate_size=3072, num_hidden_layers=12, projection_dim=768))]
        elif name.startswith("Wan"):
            found = [transformers.UMT5EncoderModel(transformers.UMT5Config(vocab_size=256384, **xxl))]
        else:
            clip = transformers.CLIPTextConfig(
                hidden_size=768, num_attention_heads=12, intermediate_size=3072, num_hidden_layers=12, projection_dim=768)
            big = transformers.CLIPTextConfig(hidden_size=1280, num_attention_heads=20, intermediate_size=5120,
                                              num_hidden_layers=32, projection_dim=1280, hidden_act="gelu")
            found = [transformers.CLIPTextModel(clip)] if name.startswith("Flux") else [
                transformers.CLIPTextModelWithProjection(clip), transformers.CLIPTextModelWithProjection(big)]
            found.append(transformers.T5EncoderModel(transformers.T5Config(vocab_size=32128, **xxl)))
        torch.set_default_dtype(default)
        return [model.requires_grad_(False).eval() for model in found]

    def autoencoder(self, c):
        """Frozen, in the scripts' weight_dtype, or in fp32 (as those of SD 3 keep it)."""
        default = torch.get_default_dtype()
        half = c["precision"] != "fp32" and "autoencoder_fp32=1" not in c["dims"]
        torch.set_default_dtype(torch.bfloat16 if half else torch.float32)
        blocks = lambda n: dict(down_block_types=["DownEncoderBlock2D"] * n, up_block_types=["UpDecoderBlock2D"] * n, layers_per_block=2)
        if isinstance(self.transformer, diffusers.UVit2DModel):     # scripts/convert_amused.py
            vae = diffusers.VQModel(block_out_channels=[128, 256, 256, 512, 768], latent_channels=64, num_vq_embeddings=8192,
                                    mid_block_add_attention=False, lookup_from_codebook=True, **blocks(5))
        else:
            vae = diffusers.AutoencoderKL(block_out_channels=[128, 256, 512, 512], latent_channels=16, use_quant_conv=False,
                                          use_post_quant_conv=False, **blocks(4))
        torch.set_default_dtype(default)
        return vae.requires_grad_(False).eval()

    def forward(self, target, pixels=None, prompts=(), **batch):
        """Frozen models run outside of autocast, which the transformer's forward alone has (accelerate); what stands in for
        cached prompts in the batch is as large as what the encoders give."""
        with torch.no_grad(), torch.autocast("cuda", enabled=False):
            encoded = [encoder(ids)[0] for encoder, ids in zip(self.text_encoders, prompts)]
        if isinstance(self.transformer, diffusers.UVit2DModel):     # examples/amused/train_amused.py (58eb52c0)
            if pixels is not None:
                with torch.no_grad(), torch.autocast("cuda", enabled=False):
                    self.vae.quantize(self.vae.encode(pixels).latents)[2][2].reshape(len(pixels), -1)
            logits = self.transformer(**batch).float()      # convert_outputs_to_fp32() stands around the transformer alone
            codes = logits.size(1)
            with torch.autocast("cuda", enabled=False):
                return F.cross_entropy(logits.reshape(len(target), codes, -1).permute(0, 2, 1).reshape(-1, codes),
                                       target.view(-1), ignore_index=-100),
        if pixels is not None:
            with torch.no_grad(), torch.autocast("cuda", enabled=False):
                latents = self.vae.encode(pixels).latent_dist.sample()
                latents = (latents - 0.1159) * 0.3611
        prediction = self.transformer(**batch, return_dict=False)[0]
        if isinstance(prediction, list):        # of images that may differ in size
            prediction = torch.stack(prediction)
        return F.mse_loss(prediction.float(), target.float()), prediction

    def batch(self, c, dtype):
        """Latents with noise, their target, the time, and what text encoders have made of the prompts."""
        b = c["batch"]
        dims = dict(dict(image=1024, frames=81, height=480, width=832, text=512),
                    **{k: int(v) for k, v in (word.split("=") for word in c["dims"].split())})
        new = lambda *shape: torch.zeros(b, *shape, dtype=dtype, device="cuda")
        edge = dims["image"] // 8
        batch = self.noisy(new, dims, edge, dtype)
        name = type(self.transformer).__name__
        if self.text_encoders:
            lengths = [77] * (len(self.text_encoders) - 1)
            lengths.append(77 if name == "UVit2DModel" else dims["text"] - (77 if len(lengths) == 2 else 0))
            batch["prompts"] = [torch.zeros(b, n, dtype=torch.long, device="cuda") for n in lengths]
        if self.vae is not None:
            batch["pixels"] = torch.zeros(b, 3, dims["image"], dims["image"], dtype=self.vae.dtype, device="cuda")
        return batch

    def noisy(self, new, dims, edge, dtype):
        config = self.transformer.config
        name = config["_class_name"] if "_class_name" in config else type(self.transformer).__name__
        if name.startswith("UVit"):
            long = lambda: torch.zeros(len(new()), edge // 2, edge // 2, dtype=torch.long, device="cuda")
            return dict(input_ids=long(), encoder_hidden_states=new(77, config.encoder_hidden_size), micro_conds=new(5),
                        pooled_text_emb=new(config.cond_embed_dim), target=long())
        if name.startswith("UNet"):
            added = {}
            if config.addition_embed_type:
                added = dict(added_cond_kwargs=dict(text_embeds=new(1280), time_ids=new(6)))
            return dict(sample=new(4, edge, edge), timestep=new(), encoder_hidden_states=new(77, config.cross_attention_dim),
                        target=new(4, edge, edge), **added)
        if name.startswith("Qwen"):
            latents = ((edge // 2) ** 2, config.in_channels)
            return dict(hidden_states=new(*latents), encoder_hidden_states=new(dims["text"], config.joint_attention_dim),
                        timestep=new(), img_shapes=[[(1, edge // 2, edge // 2)]] * len(new()), target=new(*latents))
        if name.startswith("CogVideoX"):
            latents = (1 + (dims["frames"] - 1) // 4, config.in_channels, dims["height"] // 8, dims["width"] // 8)
            return dict(hidden_states=new(*latents), encoder_hidden_states=new(dims["text"], config.text_embed_dim),
                        timestep=new(), target=new(*latents))
        if name.startswith("PixArt"):
            latents = (config.in_channels, edge, edge)
            return dict(hidden_states=new(*latents), encoder_hidden_states=new(dims["text"], config.caption_channels), timestep=new(),
                        added_cond_kwargs=dict(resolution=None, aspect_ratio=None), target=new(config.out_channels, edge, edge))
        if name.startswith("Sana"):
            latents = (config.in_channels, edge // 4, edge // 4)
            return dict(hidden_states=new(*latents), encoder_hidden_states=new(dims["text"], config.caption_channels), timestep=new(),
                        target=new(*latents))
        if name.startswith("ZImage"):
            return dict(x=list(new(config.in_channels, 1, edge, edge)), t=new(),
                        cap_feats=list(new(dims["text"], config.cap_feat_dim)), target=new(config.in_channels, 1, edge, edge))
        if name.startswith("Lumina2"):
            latents = (config.in_channels, edge, edge)
            TRUE_LENGTH[0] = dims["text"]
            return dict(hidden_states=new(*latents), timestep=new(), target=new(*latents),
                        encoder_hidden_states=new(dims["text"], config.cap_feat_dim),
                        encoder_attention_mask=torch.ones(len(new()), dims["text"], dtype=torch.bool, device="cuda"))
        if name.startswith("SD3"):
            latents = (config.in_channels, edge, edge)
            return dict(hidden_states=new(*latents), encoder_hidden_states=new(dims["text"], config.joint_attention_dim),
                        pooled_projections=new(config.pooled_projection_dim), timestep=new(), target=new(*latents))
        if name.startswith("Flux"):
            latents = ((edge // 2) ** 2, config.in_channels)
            ids = lambda n: torch.zeros(n, len(config.axes_dims_rope), dtype=dtype, device="cuda")
            if name.startswith("Flux2"):
                return dict(hidden_states=new(*latents), timestep=new(), guidance=new() if config.guidance_embeds else None,
                            encoder_hidden_states=new(dims["text"], config.joint_attention_dim),
                            img_ids=ids(latents[0]), txt_ids=ids(dims["text"]), target=new(*latents))
            return dict(hidden_states=new(*latents), encoder_hidden_states=new(dims["text"], config.joint_attention_dim),
                        pooled_projections=new(config.pooled_projection_dim), timestep=new(), guidance=new(),
                        img_ids=ids(latents[0]), txt_ids=ids(dims["text"]), target=new(*latents))
        latents = (config.in_channels, 1 + (dims["frames"] - 1) // 4, dims["height"] // 8, dims["width"] // 8)
        return dict(hidden_states=new(*latents), encoder_hidden_states=new(dims["text"], config.text_dim),
                    timestep=new(), target=new(*latents))


class LayerNormByHand(nn.Module):
    """As rasbt/LLMs-from-scratch writes it, ch04/01_main-chapter-code/gpt.py."""

    def __init__(self, emb_dim):
        super().__init__()
        self.eps = 1e-5
        self.scale = nn.Parameter(torch.ones(emb_dim))
        self.shift = nn.Parameter(torch.zeros(emb_dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        norm_x = (x - mean) / torch.sqrt(var + self.eps)
        return self.scale * norm_x + self.shift


class GELUByHand(nn.Module):
    def forward(self, x):
        return 0.5 * x * (1 + torch.tanh(
            torch.sqrt(torch.tensor(2.0 / torch.pi)) *
            (x + 0.044715 * torch.pow(x, 3))
        ))


class NanoGPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        dims = dict(n_layer=12, n_head=12, n_embd=768, vocab_size=50304, bias=0, dropout=0.0, norm_kind=0)
        dims.update({k: float(v) if "." in v else int(v) for k, v in (d.split("=") for d in c["dims"].split())})
        self.gpt = torch_oracle.GPT(torch_oracle.Config(
            n_layer=dims["n_layer"], n_head=dims["n_head"], n_embd=dims["n_embd"], d_ff=4 * dims["n_embd"],
            vocab=dims["vocab_size"], seq=c["seq"], bias=bool(dims["bias"]), dropout=dims["dropout"],
            attention="math" if c["attention"] == "eager" else "memeff" if c["precision"] == "fp32" else "flash",
            checkpoint=c["checkpoint"]))
        if dims["norm_kind"]:
            for module in list(self.gpt.modules()):
                for name, child in module.named_children():
                    if isinstance(child, torch_oracle.LayerNorm):
                        setattr(module, name, LayerNormByHand(dims["n_embd"]))
                    elif isinstance(child, nn.GELU):
                        setattr(module, name, GELUByHand())

    def forward(self, input_ids, labels):
        logits, loss = self.gpt(input_ids, labels)
        return loss, logits


class ViT(nn.Module):
    """torchvision's, and the loss of its reference script."""

    def __init__(self, c):
        super().__init__()
        dims = dict(n_layer=12, n_head=12, n_embd=768, image=224, patch=16, **{})
        dims.update({k: int(v) for k, v in (d.split("=") for d in c["dims"].split())})
        self.image = dims["image"]
        self.vit = torchvision.models.vision_transformer.VisionTransformer(
            dims["image"], dims["patch"], dims["n_layer"], dims["n_head"], dims["n_embd"], 4 * dims["n_embd"])
        if c["checkpoint"] == "full":
            for layer in self.vit.encoder.layers:
                layer.forward = torch_oracle.functools.partial(torch_oracle.run_block, "full", layer.forward)

    def forward(self, input_ids, labels):
        logits = self.vit(input_ids)
        return F.cross_entropy(logits, labels), logits


class Timm(nn.Module):
    """timm's, and the loss of its benchmark.py."""

    def __init__(self, c):
        super().__init__()
        linspace = torch.linspace
        torch.linspace = lambda a, b, n, **kwargs: Rates(np.linspace(a, b, n))    # of dropped paths
        torch.linspace, self.model = linspace, timm.create_model(c["model"].removeprefix("timm/"))
        self.image = self.model.default_cfg["input_size"][1]

    def forward(self, input_ids, labels):
        logits = self.model(input_ids)
        return F.cross_entropy(logits, labels), logits


def build(c):
    dtype = torch.bfloat16 if c["precision"] == "bf16-pure" or c["base"] == "bf16" else torch.float32
    torch.set_default_dtype(dtype)
    try:
        with torch.device("cuda"):
            if c["model"] in ("nanogpt", "torchvision-vit"):
                return (NanoGPT if c["model"] == "nanogpt" else ViT)(c)
            if c["model"].startswith("timm/"):
                return Timm(c)
            with open(os.path.join(HERE, "configs", c["model"] + ".json")) as f:
                keys = json.load(f)
            if "_class_name" in keys:
                model = Diffusion(c, keys)
                model.transformer = with_adapters(c, model.transformer)
                return model
            config = transformers.CONFIG_MAPPING[keys["model_type"]].from_dict(keys)
            config.use_cache = False                    # as Trainer has it
            if c["attention"] == "eager":
                config._attn_implementation = "eager"
            if any("experts" in key for key in keys) and "llama4" not in keys["model_type"]:
                config._experts_implementation = "grouped_mm"
            architecture = keys["architectures"][0]
            if trainable_keys(c).get("objective") == "reward":
                architecture, config.num_labels = architecture.replace("CausalLM", "SequenceClassification"), 1
                config.pad_token_id = 0                 # looked for behind the last token
            model = getattr(transformers, architecture)._from_config(config, dtype=dtype)
            model.train()
            if c["checkpoint"] == "full":
                model.activation_checkpointing_enable(dict(use_reentrant=False, preserve_rng_state=False))
                layers = [m for m in model.modules() if isinstance(m, transformers.modeling_layers.GradientCheckpointingLayer)]
                for layer in layers[int(trainable_keys(c).get("checkpoint_layers", len(layers))):]:
                    layer.gradient_checkpointing = False    # Megatron's recompute_method block
            return with_adapters(c, model)
    finally:
        torch.set_default_dtype(torch.float32)


MODULES = {
    "attention": ["q_proj", "k_proj", "v_proj", "o_proj"], "mlp": ["gate_proj", "up_proj", "down_proj"],
    "projector": ["projector"], "all-but-vision": ["projector", "connector", "visual.merger", "language_model", "text_model", "lm_head"], "norms": ["norm"], "embeddings": ["embed_tokens"], "head": ["lm_head"], "biases": [".bias"]}


def trainable_keys(c):
    return dict(word.split("=") for word in c["trainable"].split())


def make_mean(c, model):
    """The running mean of the weights as diffusers and timm keep it (`ema`); a call updates it."""
    kind = trainable_keys(c).get("ema")
    if not kind:
        return None
    if kind == "lerp":
        means = [p.clone().detach() for p in model.parameters()]        # ModelEmaV3, whose generator wants a device
        return lambda: torch._foreach_lerp_(means, [p.detach() for p in model.parameters()], weight=1e-4)
    from diffusers.training_utils import EMAModel
    mean = EMAModel(model.parameters(), foreach=kind == "foreach")
    return lambda: mean.step(model.parameters())


def layers_named(text, layers):
    """The last N layers, or those from M to N ("M..N")."""
    first, _, last = text.partition("..")
    return list(range(int(first), int(last) + 1) if last else range(layers - int(first), layers))


def adapter_config(keys):
    """peft's configuration of a method (`adapter`; LoRA where none is named)."""
    method, size = keys.get("adapter", "lora"), int(keys.get("lora", 0))
    targets = keys.get("lora_targets", "")
    common, modules = dict(task_type="CAUSAL_LM"), dict(
        target_modules=MODULES.get(targets) or (targets if targets == "all-linear" else targets.split(",")))
    drop = float(keys.get("lora_dropout", 0))
    make = {
        "lora": lambda: peft.LoraConfig(
            r=size, lora_alpha=16, lora_dropout=drop, use_dora="dora" in keys, bias=keys.get("lora_bias", "none"),
            trainable_token_indices=list(range(int(keys["trainable_tokens"]))) if "trainable_tokens" in keys else None,
            layers_to_transform=layers_named(keys["trainable_layers"], 0) if "trainable_layers" in keys else None,
            **modules, **common),
        "adalora": lambda: peft.AdaLoraConfig(init_r=size, lora_dropout=drop, total_step=1000, **modules, **common),
        "vera": lambda: peft.VeraConfig(r=size, vera_dropout=drop, **modules, **common),
        "miss": lambda: peft.MissConfig(r=size, miss_dropout=drop, **modules, **common),
        "miss-mini": lambda: peft.MissConfig(r=size, mini_r=size, init_weights="mini", miss_dropout=drop, **modules, **common),
        "loha": lambda: peft.LoHaConfig(r=size, **modules, **common),
        "lokr": lambda: peft.LoKrConfig(r=size, decompose_factor=int(keys.get("lokr_factor", -1)), **modules, **common),
        "oft": lambda: peft.OFTConfig(r=int(keys.get("adapter_blocks", 0)), oft_block_size=0 if "adapter_blocks" in keys else size, **modules, **common),
        "boft": lambda: peft.BOFTConfig(boft_block_size=size, **modules, **common),
        "hra": lambda: peft.HRAConfig(r=size, **modules, **common),
        "fourierft": lambda: peft.FourierFTConfig(n_frequency=size, **modules, **common),
        "waveft": lambda: peft.WaveFTConfig(n_frequency=size, **modules, **common),
        "randlora": lambda: peft.RandLoraConfig(r=size, randlora_dropout=drop, **modules, **common),
        "road": lambda: peft.RoadConfig(**modules, **common),
        "vblora": lambda: peft.VBLoRAConfig(r=size, vblora_dropout=drop, **modules, **common),
        "c3a": lambda: peft.C3AConfig(block_size=size, **modules, **common),
        "shira": lambda: peft.ShiraConfig(r=size, **modules, **common),
        "delora": lambda: peft.DeloraConfig(r=size, module_dropout=drop, **modules, **common),
        "hira": lambda: peft.HiraConfig(r=size, hira_dropout=drop, **modules, **common),
        "gralora": lambda: peft.GraloraConfig(r=size, gralora_dropout=drop, **modules, **common),
        "pvera": lambda: peft.PveraConfig(r=size, pvera_dropout=drop, **modules, **common),
        "ia3": lambda: peft.IA3Config(feedforward_modules=keys.get("ia3_inputs", "down_proj").split(","), **modules, **common),
        "road-2": lambda: peft.RoadConfig(variant="road_2", **modules, **common),
        "lora-fa": lambda: peft.LoraConfig(r=size, lora_alpha=16, lora_dropout=drop, **modules, **common),
        "mica": lambda: peft.LoraConfig(r=size, lora_alpha=16, lora_dropout=drop, init_lora_weights="mica", **modules, **common),
        "beft": lambda: peft.BeftConfig(**modules, **common),
        "deft": lambda: peft.DeftConfig(r=size, deft_dropout=drop, **modules, **common),
        "para": lambda: peft.DeftConfig(r=size, para=True, decomposition_method="qr", **modules, **common),
        "glora": lambda: peft.GloraConfig(r=size, **modules, **common),
        "glora-vector": lambda: peft.GloraConfig(config_A_B="vector", config_C="vector", **modules, **common),
        "peanut": lambda: peft.PeanutConfig(r=size, **modules, **common),
        "psoft": lambda: peft.PsoftConfig(r=size, psoft_dropout=drop, **modules, **common),
        "tinylora": lambda: peft.TinyLoraConfig(r=size, tinylora_dropout=drop, **modules, **common),
        "tinylora-tied": lambda: peft.TinyLoraConfig(weight_tying=1.0, **modules, **common),
        "unilora": lambda: peft.UniLoraConfig(r=size, unilora_dropout=drop, **modules, **common),
        "ln-tuning": lambda: peft.LNTuningConfig(
            target_modules=["input_layernorm", "post_attention_layernorm", "norm"], **common),
        "prompt-tuning": lambda: peft.PromptTuningConfig(num_virtual_tokens=size, **common),
        "p-tuning": lambda: peft.PromptEncoderConfig(
            num_virtual_tokens=size, encoder_hidden_size=int(keys.get("prompt_encoder", 0)) or None, **common),
        "prefix-tuning": lambda: peft.PrefixTuningConfig(
            num_virtual_tokens=size, prefix_projection="prompt_encoder" in keys,
            encoder_hidden_size=int(keys.get("prompt_encoder", 0)) or None, **common),
    }
    return make[method]()


def is_adapter(module):
    return isinstance(module, peft.tuners.tuners_utils.BaseTunerLayer) or type(module).__name__ in ("BufferDict", "OFTRotationModule")


def without_values():
    """Three methods look at values: where a mask is set (here everywhere, or in as many places as there are weights),
    how often a place was drawn (once)."""
    torch.bincount = lambda places, minlength: torch.ones(minlength, dtype=torch.int64, device=places.device)
    layer = peft.tuners.shira.layer.ShiraLayer
    update = layer.update_layer

    def update_layer(self, name, mask, r, **more):
        update(self, name, None, r, **more)
        self.shira_indices[name] = torch.zeros(2, self.shira_weight[name].numel(), dtype=torch.int32, device="cuda")
    layer.update_layer = update_layer
    module = peft.tuners.waveft.layer
    source = textwrap.dedent(inspect.getsource(module.WaveFTLayer.get_delta_weight))
    everywhere = "torch.arange(spectrum.numel(), device='cuda')"
    exec(source.replace("valid_mask]", everywhere + "]"), vars(module))
    module.WaveFTLayer.get_delta_weight = module.get_delta_weight


def copy_of(layer):
    other = copy.copy(layer)
    other._parameters = {name: nn.Parameter(p.detach().clone()) for name, p in layer._parameters.items()}
    return other


def with_adapters(c, model):
    """The model as peft wraps it, or with the rest of its parameters frozen."""
    keys = dict(word.split("=") for word in c["adapter"].split())
    if keys:
        # Adapters are made where and as the model is; fake weights cannot be converted in place.
        nn.Module.to, to = lambda module, *args, **kwargs: module, nn.Module.to
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        ln_tuning.deepcopy = copy_of                            # of fake tensors, in their mode
        if isinstance(model, diffusers.ModelMixin):             # as its add_adapter() does
            wrapped = peft.inject_adapter_in_model(adapter_config(keys), model)
        else:
            wrapped = peft.get_peft_model(model, adapter_config(keys), autocast_adapter_dtype=False)
        torch.set_default_dtype(default)
        nn.Module.to = to
        for module in wrapped.modules():
            if hasattr(module, "ranknum"):                      # frozen, until a move makes it anew
                module.ranknum.requires_grad_(False)
            if isinstance(module, (peft.tuners.lycoris_utils.LycorisLayer, peft.tuners.vblora.layer.VBLoRALayer)):
                module.training = False                         # dropped with a probability of 0, which it would draw; looks at values
            for name, p in module.named_parameters(recurse=False):
                if p.requires_grad and keys.get("adapter") != "ln-tuning":      # cast_adapter_dtype(), or as the base is
                    setattr(module, name, nn.Parameter(p.detach().to(
                        torch.bfloat16 if keys.get("lora_dtype") == "16bit" else torch.float32)))
            if type(module).__name__ == "BufferDict":
                for name, b in module.named_buffers(recurse=False):
                    module[name] = (b.detach().float() if b.is_floating_point() else b.detach()).cuda()
        for name, p in wrapped.named_parameters():              # as create_lorafa_optimizer() does
            p.requires_grad_(p.requires_grad and not (keys.get("adapter") == "lora-fa" and "lora_A" in name))
        return wrapped
    keys = {k: v for k, v in trainable_keys(c).items() if k.startswith("trainable")}
    wanted = [part for word in keys.get("trainable", "").split(",") if word for part in MODULES[word]]
    if "trainable_layers" in keys:
        wanted = [f"layers.{i}." for i in layers_named(keys["trainable_layers"], model.config.num_hidden_layers)]
    for name, p in model.named_parameters():
        p.requires_grad_(p.requires_grad if not keys else any(part in name for part in wanted))
    return model


def get_batch(c, model):
    """What the loader brings: token indices and labels, an image and its class ..."""
    b, t = c["batch"] * (2 if trainable_keys(c).get("objective") in ("dpo", "reward") else 1), c["seq"]
    long = lambda *shape: torch.zeros(*shape, dtype=torch.long, device="cuda")
    if isinstance(model, (ViT, Timm)):
        dtype = torch.bfloat16 if c["precision"] == "bf16-pure" else torch.float32
        return dict(input_ids=torch.zeros(b, 3, model.image, model.image, dtype=dtype, device="cuda"), labels=long(b))
    if isinstance(model, Diffusion):
        return model.batch(c, torch.bfloat16 if c["precision"] == "bf16-pure" or c["base"] == "bf16" else torch.float32)
    name = type(model).__name__
    if name.endswith("ImageClassification"):
        dtype = torch.bfloat16 if c["precision"] == "bf16-pure" else torch.float32
        size = getattr(model.config, "image_size", 224)
        return dict(pixel_values=torch.zeros(b, 3, size, size, dtype=dtype, device="cuda"), labels=long(b))
    if name.startswith(("Llava", "Gemma3For", "PaliGemma", "Idefics3", "SmolVLM", "Mistral3", "InternVL", "Llama4")) and "Condit" in name:
        dtype = torch.bfloat16 if c["precision"] == "bf16-pure" else torch.float32
        size, images = model.config.vision_config.image_size, (1,) * name.startswith(("Idefics3", "SmolVLM"))
        size = size if isinstance(size, int) else size[0]
        kinds = dict(token_type_ids=long(b, t)) if "Gemma" in name else {}      # as the processor says which are images
        if name.startswith("LlavaNext"):        # the image once as a whole, and its four quarters
            images, kinds = (5,), dict(image_sizes=Numbers([[2 * size, 2 * size]] * b))
        elif name.startswith("Mistral3"):
            kinds = dict(image_sizes=Numbers([[size, size]] * b))
        return dict(input_ids=long(b, t), labels=long(b, t), **kinds,
                    pixel_values=torch.zeros(b, *images, 3, size, size, dtype=dtype, device="cuda"))
    if name.startswith(("Qwen2", "Qwen3")) and ("VL" in name or "Conditional" in name):        # what the processor counts, as numbers that can be read
        dtype = torch.bfloat16 if c["precision"] == "bf16-pure" else torch.float32
        vision, edge = model.config.vision_config, 448 // model.config.vision_config.patch_size
        patches = b * edge * edge
        return dict(input_ids=long(b, t), labels=long(b, t), position_ids=long(3, b, t),
                     pixel_values=torch.zeros(patches, 3 * vision.temporal_patch_size * vision.patch_size ** 2,
                                              dtype=dtype, device="cuda"),
                     image_grid_thw=Numbers([[1, edge, edge]] * b))
    if name in ("CLIPModel", "SiglipModel"):
        dtype = torch.bfloat16 if c["precision"] == "bf16-pure" else torch.float32
        size = model.config.vision_config.image_size
        return dict(input_ids=long(b, t), return_loss=True,
                    pixel_values=torch.zeros(b, 3, size, size, dtype=dtype, device="cuda"))
    if name.endswith("SequenceClassification") and "objective" not in trainable_keys(c):
        return dict(input_ids=long(b, t), labels=long(b))
    if name.endswith("QuestionAnswering"):
        return dict(input_ids=long(b, t), start_positions=long(b), end_positions=long(b))
    dims = dict(word.split("=") for word in c["dims"].split())
    batch = dict(input_ids=long(b, int(dims.get("encoder_seq", t))), labels=long(b, t))
    if name.startswith("Whisper"):
        del batch["input_ids"]
        dtype = torch.bfloat16 if c["precision"] == "bf16-pure" else torch.float32
        batch["input_features"] = torch.zeros(b, model.config.num_mel_bins, 2 * model.config.max_source_positions,
                                              dtype=dtype, device="cuda")
    if name == "BertForPreTraining":
        batch["next_sentence_label"] = long(b)
    return batch


class Numbers(np.ndarray):
    """Numbers that code reads, where it expects a tensor."""

    def __new__(cls, values):
        return np.asarray(values).view(cls)

    def prod(self, axis=None, dim=None, **kwargs):
        return super().prod(axis if dim is None else dim, **kwargs)


class Rates(Numbers):
    def split(self, lengths):
        return np.split(self, np.cumsum(lengths)[:-1])


def vision_helpers():
    """What transformers' vision_utils read off the grid of an image, which is square here."""
    def sums(lengths):
        return Numbers(np.cumsum([0] + lengths))

    def position_ids(grid_thw, *args, **kwargs):
        return torch.zeros(int(grid_thw.prod(-1).sum()), 2, dtype=torch.long, device="cuda")

    def seqlens(grid_thw, config, kwargs=None):
        return sums([int(n) for n in grid_thw.prod(-1)]), None

    def window_index(grid_thw, spatial_merge_size, window_size, patch_size, kwargs=None):
        each = (window_size // patch_size) ** 2
        total = int(grid_thw.prod(-1).sum())
        return torch.zeros(total // spatial_merge_size ** 2, dtype=torch.long, device="cuda"), sums([each] * (total // each))

    def interpolation(grid_thw, *args, **kwargs):
        n = int(grid_thw.prod(-1).sum())
        return torch.zeros(n, 4, dtype=torch.long, device="cuda"), torch.zeros(n, 4, device="cuda")

    models = transformers.models
    for module in (models.qwen2_vl.modeling_qwen2_vl, models.qwen2_5_vl.modeling_qwen2_5_vl,
                   models.qwen3_vl.modeling_qwen3_vl, models.qwen3_vl_moe.modeling_qwen3_vl_moe,
                   models.qwen3_5.modeling_qwen3_5, models.qwen3_5_moe.modeling_qwen3_5_moe):
        if hasattr(module, "get_vision_interpolation_indices_and_weights"):
            module.get_vision_interpolation_indices_and_weights = interpolation
        module.get_vision_position_ids, module.get_vision_attention_seqlens = position_ids, seqlens
        module.get_max_seqlen = lambda *args, **kwargs: None
        if hasattr(module, "get_vision_window_index"):
            module.get_vision_window_index = window_index

    def deepstack(self, x, mask, embeds):           # where the mask is true: as nonzero() tells, whose length it knows not
        where = lambda: torch.zeros(embeds.shape[0], 2, dtype=torch.long, device="cuda").unbind(1)
        x = x.clone()
        x[where()] = x[where()] + embeds.to(x.dtype)
        return x

    models.qwen3_vl.modeling_qwen3_vl.Qwen3VLTextModel._deepstack_process = deepstack
    models.qwen3_vl_moe.modeling_qwen3_vl_moe.Qwen3VLMoeTextModel._deepstack_process = deepstack

    class Torch:                                    # sizes of images are numbers that code reads
        as_tensor = staticmethod(lambda values, device=None: Numbers(values))
        __getattr__ = staticmethod(lambda name: getattr(torch, name))

    models.mistral3.modeling_mistral3.torch = Torch()


class Several:
    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def step(self):
        for each in self.optimizers:
            each.step()

    def zero_grad(self, set_to_none=True):
        for each in self.optimizers:
            each.zero_grad(set_to_none=set_to_none)


def matrix_optimizer(c, params, matrices):
    """Optimizers of the packages galore-torch, apollo-torch and pytorch-optimizer, and PyTorch's Muon: `matrices` are the
    layers'; a projection is made anew in each step (update_proj_gap), as in the first."""
    hidden, rest = ([p for p in params if (id(p) in matrices) == which] for which in (True, False))
    name, groups = c["optimizer"], [{"params": rest}] if rest else []
    more = dict(rank=int(dict(word.split("=") for word in c["dims"].split()).get("optimizer_rank", 128)),
                update_proj_gap=1, scale=0.25, proj_type="std")
    if name == "muon":
        return Several(*([torch.optim.Muon(hidden)] if hidden else []) + ([torch.optim.AdamW(rest, fused=True)] if rest else []))
    if name == "soap":
        import pytorch_optimizer
        return pytorch_optimizer.SOAP(hidden + rest, precondition_frequency=1000, max_precondition_dim=10000)
    if name.startswith("galore"):
        import bitsandbytes
        import galore_torch
        torch.cuda.synchronize = lambda *args: None
        bitsandbytes.functional.optimizer_update_32bit = lambda *args, **more: None     # in place; wants a number
        kind = galore_torch.GaLoreAdamW8bit if name == "galore8bit" else galore_torch.GaLoreAdamW
        return kind(groups + ([{"params": hidden, **more}] if hidden else []), **({} if name == "galore8bit" else {"no_deprecation_warning": True}))
    import apollo_torch.apollo as apollo
    import apollo_torch.random_projector as projector
    apollo.max = lambda a, least: torch.clamp(a, min=least)             # of a number that fake tensors do not have
    projector.stable_randn = lambda shape, seed, device=None, dtype=torch.float32: torch.randn(shape, device=device, dtype=dtype)
    more.update(proj="random", scale_type="channel" if name == "apollo" else "tensor", **({} if name == "apollo" else {"rank": 1}))
    return apollo.AdamW(groups + ([{"params": hidden, **more}] if hidden else []))


def make_optimizer(c, params, matrices=()):
    if c["optimizer"] in ("muon", "soap", "galore", "galore8bit", "apollo", "apollo-mini"):
        return matrix_optimizer(c, params, matrices)
    kinds = {"adamw": lambda: torch.optim.AdamW(params, fused=True),
             "adamw-loop": lambda: torch.optim.AdamW(params, foreach=False),
             "adamw-foreach": lambda: torch.optim.AdamW(params, foreach=True),
             "sgd": lambda: torch.optim.SGD(params, lr=0.1),
             "sgd-momentum": lambda: torch.optim.SGD(params, lr=0.1, momentum=0.9)}
    return kinds[c["optimizer"]]()


def update_in_backward(c, params, matrices):
    """torchtune's create_optim_in_bwd_wrapper and register_optim_in_bwd_hooks."""
    for p in params:
        own = make_optimizer(c, [p], matrices)

        def step(p, own=own):
            own.step()
            own.zero_grad()

        p.register_post_accumulate_grad_hook(step)


def autocast(c):
    if c["precision"] in ("bf16", "fp16"):
        return torch.autocast("cuda", dtype=torch.bfloat16 if c["precision"] == "bf16" else torch.float16)
    return contextlib.nullcontext()


def as_accelerate_prepares(c, model):
    """accelerate's prepare_model: forward under autocast, 16-bit outputs made fp32."""
    if c["loop"] == "own" or c["model"] == "nanogpt":
        def forward(**batch):
            with autocast(c):
                return model(**batch)
        return forward
    if c["precision"] in ("bf16", "fp16"):
        return convert_outputs_to_fp32(lambda **batch: run(autocast(c), model, batch))
    return model


class MaskedScatter(torch.autograd.Function):
    """Tensor.masked_scatter(), whose backward selects as many rows as the mask says (not of fake tensors)."""

    @staticmethod
    def forward(ctx, x, mask, source):
        ctx.save_for_backward(mask)
        ctx.sizes = source.shape
        return torch.masked_scatter(x, mask, source)

    @staticmethod
    def backward(ctx, g):
        mask, = ctx.saved_tensors
        dx = g.masked_fill(mask, 0) if ctx.needs_input_grad[0] else None
        return dx, None, g.new_empty(ctx.sizes) if ctx.needs_input_grad[2] else None


class Gather(torch.autograd.Function):
    """torch.gather(), whose backward adds in place (FunctionsManual.cpp, gather_backward(): not to fake tensors)."""

    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.shape = x.shape
        return torch.gather(x, -1, index)

    @staticmethod
    def backward(ctx, g):
        return g.new_zeros(ctx.shape).scatter_add_(-1, ctx.saved_tensors[0], g), None


def log_probabilities(logits, labels):
    """TRL's selective_log_softmax() without its Triton kernel (trl/trainer/utils.py of 1.10, f2cd5771)."""
    index = labels.unsqueeze(-1)
    if logits.dtype == torch.float32:
        selected = Gather.apply(logits, index)
        return (selected - torch.stack([torch.logsumexp(lg, dim=-1) for lg in logits]).unsqueeze(-1)).squeeze(-1)
    rows = []
    for row_logits, row_labels in zip(logits, index, strict=True):
        row_logps = F.log_softmax(row_logits, dim=-1)
        rows.append(Gather.apply(row_logps, row_labels))
    return torch.stack(rows).squeeze(-1)


def with_objective(c, model, forward):
    """DPOTrainer._compute_loss() of TRL 1.10 (f2cd5771): the policy reads chosen and rejected answers, then the
    reference, a model of its own or the one without adapters, unless its log-probabilities were computed before."""
    keys = trainable_keys(c)
    if "objective" not in keys:
        return forward
    if keys["objective"] == "reward":
        return rewards(forward)
    if keys["objective"] == "grpo":
        if "reference" not in keys:
            model.frozen = [build(dict(c, checkpoint="none")).eval()]      # its pass is another phase's
        return policy(c, forward)
    if keys.get("reference") != "cached" and not c["adapter"]:
        frozen = build(dict(c, checkpoint="none")).eval()
        reference = as_accelerate_prepares(c, frozen)
    elif keys.get("reference") != "cached":
        def reference(**batch):
            with model.disable_adapter():
                return forward(**batch)
    else:
        reference = None

    def compute_loss(input_ids, labels):
        mask = labels[..., 1:]
        outputs = forward(input_ids=input_ids)
        shift_logits = outputs.logits[..., :-1, :]
        shift_labels = input_ids[..., 1:]
        per_token_logps = log_probabilities(shift_logits, shift_labels).masked_fill(mask == 0, 0.0)
        chosen, rejected = per_token_logps.sum(dim=1).chunk(2, dim=0)
        if reference is None:
            ref_chosen, ref_rejected = torch.zeros_like(chosen), torch.zeros_like(rejected)
        else:
            with torch.no_grad():
                ref_outputs = reference(input_ids=input_ids)
                ref_shift_logits = ref_outputs.logits[..., :-1, :]
                ref_logps = log_probabilities(ref_shift_logits, shift_labels).masked_fill(mask == 0, 0.0)
                ref_chosen, ref_rejected = ref_logps.sum(dim=1).chunk(2, dim=0)
        return (-F.logsigmoid(0.1 * (chosen - ref_chosen - (rejected - ref_rejected))).mean(),)

    return compute_loss


def rewards(forward):
    """RewardTrainer.compute_loss() of TRL 1.10 (f2cd5771): chosen and rejected answers are one batch."""
    def compute_loss(input_ids, labels):
        chosen, rejected = torch.chunk(forward(input_ids=input_ids, use_cache=False).logits.squeeze(-1), chunks=2)
        return (-F.logsigmoid(chosen - rejected).mean(),)

    return compute_loss


def entropy_from_logits(logits, chunk_size=128):
    """trl/trainer/utils.py of 1.10 (f2cd5771)."""
    entropies = []
    for chunk in logits.reshape(-1, logits.shape[-1]).split(chunk_size, dim=0):
        logps = F.log_softmax(chunk, dim=-1)
        entropies.append(-(torch.exp(logps) * logps).sum(-1))
    return torch.cat(entropies, dim=0).reshape(logits.shape[:-1])


def policy(c, forward):
    """GRPOTrainer._compute_loss() of TRL 1.10 (f2cd5771), and the pass that it makes: beta 0, old log-probabilities
    given, the loss of its default (dapo)."""
    keep = int(dict(word.split("=") for word in c["dims"].split())["completion"])

    def per_token(input_ids):
        logits = forward(input_ids=input_ids, logits_to_keep=keep + 1, use_cache=False).logits
        logits = logits[:, :-1, :]
        logits = logits[:, -keep:, :]
        logits.div_(1.0)
        logps = log_probabilities(logits, input_ids[:, -keep:])
        with torch.no_grad():
            return logps, entropy_from_logits(logits)

    def compute_loss(input_ids, labels):
        logps, entropies = per_token(input_ids)
        old, mask = torch.zeros_like(logps), labels[:, -keep:] != 0
        ratio = torch.exp(logps - old)
        loss = -torch.min(ratio, torch.clamp(ratio, 0.8, 1.2))
        return ((loss * mask).sum() / 8,)

    return compute_loss


def run(context, model, batch):
    with context:
        return model(**batch)


# ---------------------------------------------------------------- one configuration, eager

def saved_for_backward(c, model, forward, tracker):
    saved = {}

    def pack(tensor):
        if isinstance(tensor, FakeTensor) and tensor.fake_device.type == "cuda":
            serial = tracker.entry(tensor)[0][0]
            if serial not in tracker.weights:
                saved[serial] = tensor.untyped_storage().nbytes()
        with torch.no_grad():
            return tensor.detach()

    batch = get_batch(c, model)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = forward(**batch)
    return sum(saved.values())


def measure_eager(c, trace=None):
    with FakeTensorMode(), Tracker(trace is not None) as tracker:
        model = build(c)
        params = list(dict.fromkeys(model.parameters()))
        tracker.weights = {tracker.entry(p)[0][0] for p in params}
        trained = [p for p in params if p.requires_grad]
        matrices = {id(p) for name, p in model.named_parameters() if re.search(r"\.(layers|h)\.\d+\.", name) and p.ndim == 2}
        optimizer = make_optimizer(c, trained, matrices)
        hooks = c["loop"] == "hooks"
        if hooks:
            update_in_backward(c, trained, matrices)
        ema = make_mean(c, model)
        scale = torch.ones((), device="cuda") if c["precision"] == "fp16" else None
        forward = with_objective(c, model, as_accelerate_prepares(c, model))
        saved = saved_for_backward(c, model, forward, tracker) if c["checkpoint"] == "none" else 0
        gc.collect()
        batch, outputs = get_batch(c, model), None
        for step in (1, 2):
            for micro in range(c["accum"]):
                gc.collect()
                if trace is not None and (step, micro) == (2, c["accum"] - 1):
                    tracker.lines.clear()
                    tracker.lines.append(f"# live {tracker.live}")
                tracker.start("forward")
                if c["loop"] == "keep":
                    outputs = forward(**batch)
                    loss = outputs[0] / c["accum"]
                else:
                    loss = forward(**batch)[0] / c["accum"]
                batch = get_batch(c, model)
                gc.collect()
                tracker.settle()
                phases = {"forward": vars(tracker).copy()}
                tracker.start("backward")
                (loss if scale is None else loss * scale).backward()
                tracker.settle()
                phases["backward"] = vars(tracker).copy()
                del loss
            tracker.start("optimizer")
            if not hooks:
                torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimizer.step()
            if ema:
                ema()
            phases["optimizer"] = vars(tracker).copy()
            optimizer.zero_grad(set_to_none=True)
        peak = {name: p["peak_flash"] for name, p in phases.items()}
        phase = max(peak, key=peak.get)
        buffers = sum(tracker.entry(b)[0][1] for b in {id(b): b for m in model.modules() if not is_adapter(m)
                                                       for b in m.buffers(recurse=False)}.values())
        if trace is not None:
            trace += tracker.lines
        return dict(
            params=sum(p.numel() for p in params), trained=sum(p.numel() for p in trained), buffer_bytes=buffers,
            flops_forward=phases["forward"]["flops"], flops_backward=phases["backward"]["flops"],
            saved_bytes=saved, forward_peak_bytes=peak["forward"], backward_peak_bytes=peak["backward"],
            optimizer_peak_bytes=peak["optimizer"], peak_bytes=peak[phase], peak_phase=phase,
            peak_op=phases[phase]["peak_flash_op"])


# ---------------------------------------------------------------- one configuration, compiled

class Done(Exception):
    pass


def measure_compiled(c):
    """What the graph that torch.compile makes of forward leaves for the one of backward: AOTAutograd, the
    passes of inductor over the joint graph, its partitioner."""
    import torch._inductor.config as inductor
    from torch._functorch.aot_autograd import aot_function
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.fx_passes.joint_graph import joint_graph_passes
    from torch._inductor.virtualized import V

    inductor.shape_padding = False              # measures kernels
    inductor.joint_graph_constant_folding = False
    found = {}

    def partition(joint, inputs, *, num_fwd_outputs, **kwargs):
        with V.set_fake_mode(mode):
            joint_graph_passes(joint, torch.device("cuda"))
        kwargs.pop("static_lifetime_input_indices", None)
        forward, backward = min_cut_rematerialization_partition(
            joint, inputs, num_fwd_outputs=num_fwd_outputs, compiler="inductor", static_lifetime_input_indices=[],
            **kwargs)
        values = [n for g in (forward,) for n in g.graph.nodes]
        outputs = next(n for n in values if n.op == "output").args[0]
        storages, listing = {}, []
        inputs_of = {n.meta["val"].untyped_storage()._cdata for n in values
                     if n.op == "placeholder" and isinstance(n.meta.get("val"), torch.Tensor)
                     and n.meta["val"].is_floating_point()}
        users = {n.meta["val"].untyped_storage()._cdata for n in outputs[:num_fwd_outputs]
                 if n is not None and isinstance(n.meta.get("val"), torch.Tensor)}
        for n in outputs[num_fwd_outputs:]:
            v = n.meta.get("val")
            if isinstance(v, torch.Tensor):
                s = v.untyped_storage()
                if s._cdata not in inputs_of:
                    storages[s._cdata] = s.nbytes()
                    listing.append((str(n), str(v.dtype), list(v.shape), s.nbytes(), s._cdata in users))
        found.update(saved=sum(storages.values()), listing=listing)
        found["flops"] = [graph_flops(g) for g in (forward, backward)]
        raise Done

    with FakeTensorMode() as mode:
        model = build(c)
        params = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        batch = get_batch(c, model)
        names = list(params)

        def forward(weights, batch):
            out = torch.func.functional_call(model, dict(zip(names, weights)), (), batch)
            if isinstance(out, tuple):
                return out
            out = (out.loss, out.logits) if "logits" in out else out[:5]
            return tuple(convert(o) for o in out) if c["loop"] == "trainer" and c["precision"] in ("bf16", "fp16") \
                else out

        convert = lambda t: t.float() if t.dtype in (torch.bfloat16, torch.float16) else t
        compiled = aot_function(forward, fw_compiler=lambda g, _: g, partition_fn=partition,
                                decompositions=select_decomp_table(), num_params_buffers=len(names))
        try:
            with autocast(c):
                compiled([params[n] for n in names], batch)
        except Done:
            pass
        if os.environ.get("LISTING"):
            for line in found["listing"]:
                print(*line, file=sys.stderr)
        unique = list(dict.fromkeys(model.parameters()))
        return dict(params=sum(p.numel() for p in unique), trained=sum(p.numel() for p in unique), flops_forward=found["flops"][0],
                    flops_backward=found["flops"][1], saved_bytes=found["saved"])


def graph_flops(graph):
    total = 0
    for n in graph.graph.nodes:
        packet = getattr(n.target, "_overloadpacket", None)
        if packet in torch.utils.flop_counter.flop_registry:
            value = lambda a: a.meta["val"] if isinstance(a, torch.fx.Node) else a
            args, kwargs = torch.fx.node.map_arg((n.args, n.kwargs), value)
            total += torch.utils.flop_counter.flop_registry[packet](*args, **kwargs, out_val=n.meta.get("val"))
    return total


# ---------------------------------------------------------------- command line

COLUMNS = ["id", "model", *DEFAULTS, "params", "trained", "buffer_bytes", "flops_forward", "flops_backward", "saved_bytes",
           "forward_peak_bytes", "backward_peak_bytes", "optimizer_peak_bytes", "peak_bytes", "peak_phase", "peak_op"]


def write_rows(out, wanted):
    writer = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    out.write(f"# torch {torch.__version__}, transformers {transformers.__version__}, accelerate "
              f"{accelerate.__version__}, peft {peft.__version__}, torchvision {torchvision.__version__}, diffusers {diffusers.__version__}; fake CUDA tensors; see README.md\n")
    writer.writeheader()
    for c in wanted:
        try:
            figures = measure_compiled(c) if c["runtime"] == "compile" else measure_eager(c)
        except Exception as e:
            if os.environ.get("RAISE"):
                raise
            print(c["id"], type(e).__name__, str(e)[:300], file=sys.stderr)
            continue
        writer.writerow({**c, **figures})
        out.flush()


if __name__ == "__main__":
    pretend_cuda()
    patch()
    vision_helpers()
    without_values()
    if importlib.util.find_spec("mamba_ssm"):
        mamba_kernels()
    everything = list(cases())
    if sys.argv[1:2] == ["--part"]:
        part, n = map(int, sys.argv[2].split("/"))
        with open(sys.argv[3], "w") as out:
            write_rows(out, everything[part::n])
    elif sys.argv[1:2] == ["--trace"]:
        for c in everything:
            if c["id"] == sys.argv[2]:
                lines = []
                print(measure_eager(c, lines))
                print(*lines, sep="\n")
    elif len(sys.argv) > 1:
        write_rows(sys.stdout, [c for c in everything if sys.argv[1] in c["id"]])
    else:
        with open(os.path.join(HERE, "torch_models.csv"), "w") as out:
            write_rows(out, everything)
    sys.stdout.flush()
    os._exit(0)     # the engine's device thread does not survive a normal exit without a GPU
