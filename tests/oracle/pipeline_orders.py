"""What each rank of a pipeline runs, as the trainers' own code says it.

    pipeline_orders.py dualpipe-checkout primus-checkout > pipeline_orders.csv

PyTorch's schedules (torch.distributed.pipelining.schedules) are asked for their
orders; DeepSeek's DualPipe and DualPipeV (a checkout of deepseek-ai/DualPipe)
run their step with passes that only note what is called; Primus' V-shaped ones
(a checkout of AMD-AGI/Primus) are laid by its scheduler.  Passes: F forward, B
gradient of the input, W of the weights, BW both, FBW a forward merged with the
backward of the other chunk; the number is the chunk of the rank.
"""
import importlib
import re
import subprocess
import sys
import types

import torch
from torch.distributed.pipelining import schedules as t

PASSES = {"F": "F", "I": "B", "W": "W", "B": "BW"}


def blank(cls, **attributes):
    """An instance whose constructor did not run."""
    o = object.__new__(cls)
    for key, value in attributes.items():
        setattr(o, key, value)
    return o


def row(source, schedule, pp, vpp, microbatches, rank, order):
    print(",".join(map(str, (source, schedule, pp, vpp, microbatches, rank, " ".join(order)))))


def in_order(actions):
    """Microbatches pass each chunk in their order, so that numbers can be left out."""
    seen = {}
    for chunk, kind, microbatch in actions:
        kinds = "BW" if kind == "BW" else kind
        for k in kinds:
            assert microbatch == seen.get((chunk, k), 0), (chunk, kind, microbatch)
            seen[chunk, k] = microbatch + 1


def from_torch(cls, schedule, pp, vpp, m, chunk_of):
    for rank in range(pp):
        rounds = max(1, m // pp)
        o = blank(cls, pp_group_size=pp, n_local_stages=vpp, number_of_rounds=rounds, rank=rank,
                  microbatches_per_round=m // rounds, _n_microbatches=m, num_stages=pp * vpp,
                  _num_stages=pp * vpp)
        order, actions = [], []
        for a in o._calculate_single_rank_operations(rank):
            if a is None:
                continue
            if a.sub_actions:
                forward, backward = a.sub_actions
                order.append(f"FBW{chunk_of(forward.stage_index, pp)}")
                parts = a.sub_actions
            else:
                order.append(PASSES[a.computation_type.value] + str(chunk_of(a.stage_index, pp)))
                parts = (a,)
            actions += [(chunk_of(p.stage_index, pp), PASSES[p.computation_type.value], p.microbatch_index)
                        for p in parts]
        if schedule != "dualpipev":
            in_order(actions)
        row("torch " + torch.__version__.split("+")[0], schedule, pp, vpp, m, rank, order)


def noting(cls):
    """The class with passes that note their names."""
    order, waiting = [], []

    class Noting(cls):
        def chunk(self, phase):
            return phase ^ int(getattr(self, "is_in_second_half", 0))

        def _reset_states(self):
            pass

        def _recv_forward(self, phase):
            pass

        _send_forward = _recv_backward = _send_backward = _recv_forward

        def _commit_and_wait_comm(self):
            pass

        def _forward_chunk(self, phase, recv=True, send=True):
            order.append(f"F{self.chunk(phase)}")

        def _backward_chunk(self, phase, enable_zb=False, recv=True, send=True):
            order.append(f"{'B' if enable_zb else 'BW'}{self.chunk(phase)}")
            if enable_zb:
                waiting.append(self.chunk(phase))

        def _forward_backward_chunk(self, phase0, phase1, recv0=True):
            order.append(f"FBW{self.chunk(phase0)}")

        def _weight_chunk(self):
            order.append(f"W{waiting.pop(0)}")

    return Noting, order


def from_deepseek(module, cls, schedule, pp, vpp, m, version):
    module.comm = types.SimpleNamespace(TENSOR_SHAPES=1, TENSOR_DTYPE=1)
    module.scatter = lambda *a: ()
    module.WeightGradStore = types.SimpleNamespace(
        funcs_queue=types.SimpleNamespace(empty=lambda: True))
    for rank in range(pp):
        noted, order = noting(cls)
        half = rank >= pp // 2
        o = blank(noted)
        o.__dict__.update(rank=rank, num_ranks=pp, is_first_rank=rank == 0, is_last_rank=rank == pp - 1,
                          is_in_second_half=half if schedule == "dualpipe" else False, batch_dim=0,
                          is_middle_rank=rank in (pp // 2 - 1, pp // 2), loss_chunks=[torch.zeros(1)])
        o.step(num_chunks=m, criterion=lambda x: x)
        row(version, schedule, pp, vpp, m, rank, order)


def deepseek_module(checkout, name):
    text = subprocess.run(["git", "-C", checkout, "show", f"HEAD:dualpipe/{name}.py"], check=True,
                          capture_output=True, text=True).stdout
    text = re.sub(r"^(from|import) dualpipe.*$|^from \.?.*WeightGradStore.*$", "", text, flags=re.M)
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def from_primus(checkout):
    """Its scheduler without what it imports of the rest."""
    at = "primus.core.pipeline_parallel.scheduler.algorithms"
    for name in "primus", "primus.core", "primus.core.utils", *(at.rsplit(".", n)[0] for n in (2, 1, 0)):
        sys.modules[name] = types.ModuleType(name)  # whose __init__ does not run
        sys.modules[name].__path__ = [f"{checkout}/{name.replace('.', '/')}"]
    sys.modules["primus.core.utils.module_utils"] = types.SimpleNamespace(log_rank_0=print)
    greedy = importlib.import_module(at + ".zbv_greedy").ScheduleZBVGreedy
    version = "Primus " + revision(checkout)
    for pp in (1, 2, 3, 4, 6, 8):
        for m in (1, pp, 2 * pp + 3, 4 * pp):
            for kind in ("half", "min"):
                schedule = greedy(pp, 2, m, kind)
                ranks = schedule.schedule_from_pattern(getattr(schedule, "stable_pattern_v_" + kind)(), m)
                for rank, places in enumerate(ranks):
                    nodes = [places[time] for time in sorted(places)]
                    in_order([(n.chunk, n.func_type.name, n.mini_batch) for n in nodes])
                    row(version, "v-" + kind, pp, 2, m, rank, [f"{n.func_type.name}{n.chunk}" for n in nodes])


def revision(checkout):
    return subprocess.run(["git", "-C", checkout, "rev-parse", "--short=8", "HEAD"], check=True, capture_output=True,
                          text=True).stdout.strip()


def main(checkout, primus):
    loop = lambda stage, pp: stage // pp
    fold = lambda stage, pp: int(stage >= pp)
    version = "DualPipe " + revision(checkout)
    print("source,schedule,pp,vpp,microbatches,rank,order")
    for pp in (2, 3, 4):
        for m in (1, 2, pp, 2 * pp, 2 * pp + 2, 2 * pp + 3, 3 * pp):
            if m <= pp or m % pp == 0:
                from_torch(t.ScheduleInterleavedZeroBubble, "zb-h1", pp, 1, m, loop)
            from_torch(t.ScheduleZBVZeroBubble, "zb-v", pp, 2, m, fold)
            for vpp in (2, 3):
                if m % max(1, m // pp) == 0:
                    from_torch(t.ScheduleInterleaved1F1B, "interleaved", pp, vpp, m, loop)
            if m >= 2 * pp:
                from_torch(t.ScheduleDualPipeV, "dualpipev", pp, 2, m, fold)
    dualpipe, dualpipev = deepseek_module(checkout, "dualpipe"), deepseek_module(checkout, "dualpipev")
    for pp in (2, 4, 6, 8):
        for m in (2 * pp, 2 * pp + 2, 3 * pp + 2):
            from_deepseek(dualpipe, dualpipe.DualPipe, "dualpipe", pp, 1, m, version)
    for pp in (1, 2, 3, 5):
        for m in (2 * pp, 2 * pp + 3):
            from_deepseek(dualpipev, dualpipev.DualPipeV, "dualpipev", pp, 2, m, version)
    from_primus(primus)


main(*sys.argv[1:])
