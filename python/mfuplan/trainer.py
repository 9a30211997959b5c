"""A callback for Hugging Face's Trainer that prints what was predicted beside what is measured.

    from mfuplan.trainer import PlanCallback
    trainer.add_callback(PlanCallback(gpu="h100-sxm"))
"""
from __future__ import annotations

import time

from transformers import TrainerCallback

import mfuplan


class PlanCallback(TrainerCallback):
    """Plans the run at its beginning; at every log line says the step time since the last one.  Settings over
    those that the arguments give: attention="math", runtime="compile", ..."""

    def __init__(self, gpu: str | None = None, warmup_steps: int = 2, out=print, **settings):
        self.gpu, self.warmup_steps, self.out, self.settings = gpu, warmup_steps, out, settings
        self.plan = None
        self._since = None

    def _gpu(self) -> str:
        if self.gpu:
            return self.gpu
        import torch

        if not torch.cuda.is_available():
            raise mfuplan.MfuplanError("no GPU is here: PlanCallback(gpu='h100-sxm')")
        return torch.cuda.get_device_name()

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        precision = "bf16" if args.bf16 else "fp16" if args.fp16 else "fp32"
        settings = {"batch": args.per_device_train_batch_size, "accum": args.gradient_accumulation_steps,
                    "precision": precision, "gpus": args.world_size if args.world_size > 1 else None,
                    "checkpoint": "full" if args.gradient_checkpointing else None,
                    "runtime": "compile" if args.torch_compile else None, **self.settings}
        try:
            self.plan = mfuplan.plan(mfuplan.from_torch(model), self._gpu(), **settings)
            self.out(f"mfuplan: predicted {self.plan!r}")
        except (mfuplan.MfuplanError, TypeError, AttributeError) as error:
            self.out(f"mfuplan: no prediction: {error}")

    def on_step_end(self, args, state, control, **kwargs):
        if self._since is None and state.global_step >= self.warmup_steps:
            self._since = (state.global_step, time.perf_counter())

    def on_log(self, args, state, control, logs=None, **kwargs):
        if self.plan is None or self._since is None or state.global_step <= self._since[0]:
            return
        step, begin = self._since
        measured = (time.perf_counter() - begin) / (state.global_step - step)
        predicted, low, high = (self.plan[k] for k in ("step_time_s", "step_time_low_s", "step_time_high_s"))
        where = "within" if low <= measured <= high else "above" if measured > high else "below"
        self.out(f"mfuplan: step {measured:.4g} s measured, {predicted:.4g} s predicted ({low:.4g} to {high:.4g}): {where}")
        self._since = (state.global_step, time.perf_counter())
