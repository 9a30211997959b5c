"""Live bytes of Transformer-XL by NVIDIA's own code: transformer_xl.py FOLDER > transformer_xl.csv

FOLDER is PyTorch/LanguageModeling/Transformer-XL/pytorch of NVIDIA/DeepLearningExamples (made with 729963dd), whose
utils/__init__.py is emptied (it asks for a logger).  A forward and a backward pass on the CPU in fp32 without dropout, with
memories of a batch before; each storage counts 512 bytes at least, weights included.  The engine adds gradients in place, which a
dispatch mode keeps it from: it is done here.
"""
import sys, weakref

sys.path.insert(0, sys.argv[1])
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
import mem_transformer

CUTOFFS, VOCAB, SHARES = [19997, 39997, 199997], 267735, [.017, .019, .002]
CASES = [(2, 512, 8, 2048, 192, 1, 4), (4, 512, 8, 2048, 192, 1, 16), (4, 1024, 16, 4096, 384, 4, 2), (2, 1024, 16, 4096, 384, 4, 4)]


def bytes_of(storage):
    return (storage.nbytes() + 511) // 512 * 512


class Tracker(TorchDispatchMode):
    def __init__(self, known):
        super().__init__()
        self.seen = {storage._cdata: 0 for storage in known}
        self.live = self.peak = sum(map(bytes_of, known))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.add.Tensor and torch._C._current_graph_task_id() != -1 and not kwargs:
            return args[0].add_(args[1])
        out = func(*args, **(kwargs or {}))
        for storage in (t.untyped_storage() for t in tree_leaves(out) if isinstance(t, torch.Tensor)):
            if storage._cdata not in self.seen and storage.nbytes():
                self.seen[storage._cdata] = bytes_of(storage)
                self.live += bytes_of(storage)
                weakref.finalize(storage, self.free, storage._cdata)
        self.peak = max(self.peak, self.live)
        return out

    def free(self, key):
        self.live -= self.seen.pop(key, 0)


def tokens(seq, batch):
    n = seq * batch
    counts = [round(share * n) for share in SHARES]
    parts = [torch.randint(low, high, (count,)) for low, high, count in
             zip([0] + CUTOFFS, CUTOFFS + [VOCAB], [n - sum(counts)] + counts)]
    return torch.cat(parts)[torch.randperm(n)].view(seq, batch)


print(f"# torch {torch.__version__.split('+')[0]}, NVIDIA/DeepLearningExamples 729963dd")
print("n_layer,n_embd,n_head,d_ff,seq,divisor,batch,params,peak_bytes")
for layers, width, heads, inner, seq, divisor, batch in CASES:
    torch.manual_seed(0)
    model = mem_transformer.MemTransformerLM(
        VOCAB, layers, heads, width, 64, inner, 0., 0., dtype=None, d_embed=width, div_val=divisor,
        tie_projs=[False, True, True, True], tgt_len=seq, ext_len=0, mem_len=seq, cutoffs=CUTOFFS, attn_type=0)
    for p in model.parameters():
        torch.nn.init.normal_(p, 0, .02)
    old = model(tokens(seq, batch), tokens(seq, batch), None)[1].clone()
    x, y = tokens(seq, batch), tokens(seq, batch)
    with Tracker([t.untyped_storage() for t in [*model.parameters(), old, x, y]]) as tracker:
        loss, new = model(x, y, old)
        tracker.live -= bytes_of(old.untyped_storage())
        old = None
        loss.float().mean().backward()
    params = sum(p.numel() for p in model.parameters())
    print(layers, width, heads, inner, seq, divisor, batch, params, tracker.peak, sep=",", flush=True)
