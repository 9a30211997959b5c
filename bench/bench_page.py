#!/usr/bin/env python3
"""What a move of a slider costs the page: CPU time of its thread until the frame is painted, the least and the median of many
in milliseconds.

    bench_page.py PAGE
"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "browser"))
import chrome

SCENARIOS = ("model=gpt2&gpu=rtx4070", "model=llama-3-8b&gpu=h100-sxm&gpus=8&zero=3",
             "model=llama-3-70b&gpu=h100-sxm&gpus=64&tp=8&pp=4&accum=16")
FRAME = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 0))))"
MOVE = "(s => {{ s.value = '{}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('#k-batch'))"


def metrics(c):
    return {m["name"]: 1e3 * m["value"] for m in c.call("Performance.getMetrics")["metrics"]}


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    for scenario in SCENARIOS:
        c = chrome.Chrome(chrome.find())
        c.call("Performance.enable", timeDomain="threadTicks")
        c.call("Page.navigate", url=page.as_uri() + "#" + scenario)
        c.until("window.mfuplan && mfuplan.ready && document.getElementById('changes').children.length", 120)
        first = c.run("mfuplan.timings[0]")
        moves = []
        for i in range(1, 41):
            before = metrics(c)
            c.run(MOVE.format(1 + i % 4))
            c.run(FRAME)
            after = metrics(c)
            moves.append({k: after[k] - before[k] for k in ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")})
        row = {"scenario": scenario, "first_ms": round(first, 1)}
        for k in moves[0]:
            of = sorted(m[k] for m in moves)
            row[k.replace("Duration", "_ms")] = [round(of[0], 1), round(of[len(of) // 2], 1)]
        print(json.dumps(row))
        c.close()


main()
