#!/usr/bin/env python3
"""What Python adds to a plan: CPU time, the least of many.  With MFUPLAN_LIBRARY and PYTHONPATH set, or installed."""
import math
import time

import mfuplan

N, TRIES = 200, 10


def least(work):
    best = math.inf
    for _ in range(TRIES):
        begin = time.process_time()
        for _ in range(N):
            work()
        best = min(best, time.process_time() - begin)
    return 1e6 * best / N


scenario = mfuplan._Scenario("gpt2", "rtx4070", {"batch": 8})
plan = mfuplan._Handle(mfuplan._lib["plan_new"](), "plan_free")
in_c = least(lambda: mfuplan._lib["run"](plan.pointer, scenario.handle.pointer, 0, None))
print(f"the same plan again      {in_c:8.1f} us in C, {least(lambda: scenario.plan(False).step_time_s):8.1f} us as mfuplan.Plan")
print(f"mfuplan.plan(...) anew   {least(lambda: mfuplan.plan('gpt2', 'rtx4070', simulated=False, batch=8).step_time_s):8.1f} us")
