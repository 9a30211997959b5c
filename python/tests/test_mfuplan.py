#!/usr/bin/env python3
"""The Python package against the program; for pytest, or by itself: test_mfuplan.py PROGRAM"""
import html
import json
import os
import subprocess
import sys

import mfuplan

PROGRAM = os.environ.get("MFUPLAN_PROGRAM", "mfuplan")


def program(commands):
    env = dict(os.environ, MFUPLAN_CALIBRATIONS="")
    out = subprocess.run([PROGRAM, "--json", "-e", commands], env=env, check=True, capture_output=True, text=True)
    return json.loads(out.stdout.splitlines()[-1])


CASES = [
    ("gpt2", "rtx4070", dict(batch=8, accum=64, runtime="compile")),
    ("llama-3-8b", "h100-sxm", dict(gpus=8, zero=3, checkpoint="full", batch=2)),
    ("mixtral-8x7b", "h200", dict(precision="bf16-pure", optimizer="adam8bit")),
    ("vit-b-16", "a100-80gb-sxm", dict(batch=64)),
]


def test_a_plan_is_the_program_s():
    for model, gpu, settings in CASES:
        p = mfuplan.plan(model, gpu, **settings)
        words = " ".join(f"{k} {v}" for k, v in settings.items())
        theirs = program(f"gpu {gpu}; model {model}; set {words}; plan")
        assert p.json("plan") == theirs
        assert p.step_time_s == p["step_time_s"]
        assert float(f"{p.step_time_s:.15g}") == theirs["step"]["step_time_s"]  # as it is printed
        assert p.ask("fits") == float(theirs["memory"]["fits"] if "memory" in theirs else theirs["fits"])


def test_a_sweep_is_its_plans():
    rows = mfuplan.sweep("gpt2", "rtx4070", batch=[1, 2, 4], runtime=["eager", "compile"], columns=["mfu", "fits"])
    assert [(r["batch"], r["runtime"]) for r in rows] == [(b, r) for b in (1, 2, 4) for r in ("eager", "compile")]
    for row in rows:
        p = mfuplan.plan("gpt2", "rtx4070", simulated=False, batch=row["batch"], runtime=row["runtime"])
        assert p.mfu == row["mfu"]
    best = mfuplan.sweep("gpt2", ["rtx4070", "h100-sxm"], batch="1..4", columns=["tokens_per_s"], best=2)
    assert len(best) == 2 and all(r["gpu"] == "h100-sxm" for r in best)
    assert best[0]["tokens_per_s"] >= best[1]["tokens_per_s"]


def test_errors_name_what_is_near():
    for call, near in [(lambda: mfuplan.plan("gpt4"), "gpt2"), (lambda: mfuplan.plan("gpt2", "rtx4071"), "rtx4070"),
                       (lambda: mfuplan.plan("gpt2", bach=8), "batch")]:
        try:
            call()
        except mfuplan.MfuplanError as error:
            assert error.suggestion and near[:4] in error.suggestion, error
        else:
            raise AssertionError("no error")
    assert not hasattr(mfuplan.plan("gpt2", "rtx4070"), "no_such_result")


def test_a_config_of_transformers():
    config = dict(model_type="llama", hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8,
                  num_key_value_heads=4, vocab_size=32000, max_position_embeddings=2048, rms_norm_eps=1e-5,
                  tie_word_embeddings=False, hidden_act="silu")
    p = mfuplan.plan(mfuplan.from_hf(config), "rtx4070", batch=2)
    embedding = 32000 * 512
    layer = 512 * (512 + 2 * 256 + 512) + 3 * 512 * 1376 + 2 * 512
    assert p.params == 2 * embedding + 4 * layer + 512


def test_a_module_that_is_not_what_its_config_says():
    try:
        import torch
    except ImportError:
        print("from_torch: not tested, torch is not installed")
        return

    class Config:
        n_layer, n_head, n_embd, vocab_size, block_size, bias = 2, 4, 64, 256, 128, True

    class Module(torch.nn.Module):
        def __init__(self, extra):
            super().__init__()
            c, self.config = Config, Config
            self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(n)) for n in (
                c.vocab_size * c.n_embd, c.block_size * c.n_embd,
                c.n_layer * (12 * c.n_embd ** 2 + 13 * c.n_embd), 2 * c.n_embd, *([extra] if extra else []))])

    assert mfuplan.plan(mfuplan.from_torch(Module(0)), "rtx4070").params > 0
    try:
        mfuplan.from_torch(Module(100000))
    except mfuplan.MfuplanError as error:
        assert "parameters" in str(error)
    else:
        raise AssertionError("another model was planned without a word")


def test_a_cluster_s_rows_are_those_of_one_process():
    try:
        import dask.distributed  # noqa: F401
    except ImportError:
        print("sweeps on a Dask cluster: not tested, dask.distributed is not installed")
        return
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "examples"))
    import dask_sweep

    rows = dask_sweep.main()
    assert len(rows) == dask_sweep.SWEEP["best"] and rows == mfuplan.sweep(**dask_sweep.SWEEP)


class Here:
    """A cluster of two workers that is this process."""

    def nthreads(self):
        return {"a": 1, "b": 1}

    def map(self, f, jobs, pure):
        return [f(job) for job in jobs]

    def gather(self, parts):
        return parts


def test_parts_of_a_sweep_are_put_together_in_order():
    for sweep in (dict(batch="1..8", runtime="eager,compile"), dict(batch="1..8", accum=[1, 8], best=5, where="fits"),
                  dict(gpu=["rtx4070", "h100-sxm"], batch="1..64*2", best=3, largest=False), dict(batch=4)):
        assert mfuplan.sweep(client=Here(), **sweep) == mfuplan.sweep(**sweep), sweep


def test_a_notebook_shows_the_figures():
    p = mfuplan.plan("gpt2", "rtx4070")
    assert f"{100 * p.mfu:.1f} %" in p._repr_html_() and "<script" not in p._repr_html_()
    page = p.html()
    assert all(f'<section id="{s}">' in page for s in ("plan", "memory", "timeline", "roofline", "meters"))
    assert page.count("<svg") >= 6 and 'id="levers"' not in page and '"#levers"' not in page
    assert html.unescape(p._repr_html_().partition('srcdoc="')[2]).startswith(page)
    assert mfuplan.plan("gpt2", "rtx4070").mfu == p.mfu


def test_the_package_is_typed_and_has_its_version():
    assert mfuplan.__version__ == mfuplan.version()
    assert os.path.exists(os.path.join(os.path.dirname(mfuplan.__file__), "py.typed"))


def test_a_plan_says_how_long_its_sequences_are():
    config = dict(model_type="llama", hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8,
                  vocab_size=32000, max_position_embeddings=131072, rms_norm_eps=1e-5, hidden_act="silu")
    assert "seq 8192" in repr(mfuplan.plan(mfuplan.from_hf(config), "h100-sxm"))
    assert "seq 4096" in repr(mfuplan.plan(mfuplan.from_hf(config), "h100-sxm", seq=4096))


if __name__ == "__main__":
    PROGRAM = sys.argv[1] if len(sys.argv) > 1 else PROGRAM
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test()
            print("ok", name)
