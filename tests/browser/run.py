#!/usr/bin/env python3
"""The page that answers, in a real browser.

    run.py PROGRAM PAGE [--screenshots FOLDER]

Thirty scenarios: what the page shows is, byte for byte, what `report` writes.  Then hands: a slider by keyboard, a choice, a link, an error,
a lesson.  Nothing is asked of any network.  axe-core, where Python has it (pip install axe-core-python) or
MFUPLAN_AXE names its file, finds nothing to object to, by day, by night and on a telephone.  77: no browser here.
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import urllib.parse

import chrome

PROGRAM, PAGE = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
PICTURES = sys.argv[4] if "--screenshots" in sys.argv else None
SCENARIOS = """
gpt2 rtx4070
gpt2 rtx4070 batch=8
gpt2 rtx4070 batch=8 accum=16 runtime=compile
gpt2 rtx4090 precision=fp16 batch=12
gpt2 rtx3090 precision=fp32 batch=4
gpt2 a100-40gb-sxm batch=16 cuda_graphs=on
gpt2 t4 precision=fp16
gpt2-xl a100-80gb-sxm checkpoint=full batch=8
gpt2-xl h100-sxm gpus=8 zero=1 batch=8
gpt2 rtx4070 n_embd=384 n_head=6 batch=32
gpt2 rtx4070 seq=4096 batch=2
llama-3-8b h100-sxm gpus=8
llama-3-8b h100-sxm gpus=8 zero=3 checkpoint=selective
llama-3-8b h100-sxm gpus=16 tp=4 accum=4
llama-3-8b h100-sxm gpus=16 tp=2 pp=2 accum=8
llama-3-8b h100-sxm gpus=32 cp=4 seq=32768 zero=3 checkpoint=full
llama-3-8b rtx4090 lora=16 base_precision=nf4 checkpoint=full
llama-3-8b a100-80gb-sxm lora=64 batch=2
llama-3-70b h100-sxm gpus=64 zero=3 checkpoint=full
llama-3-70b h100-sxm gpus=64 tp=8 pp=4 accum=16
llama-3-70b b200 gpus=64 tp=8 pp=8 accum=32 schedule=interleaved vpp=2
llama-2-7b a100-80gb-sxm gpus=8 trainer=fsdp zero=3
llama-2-7b h100-sxm optimizer=sgd batch=2
mixtral-8x7b h100-sxm gpus=16 ep=8
mixtral-8x7b h200-sxm gpus=32 ep=8 zero=1 checkpoint=full
llama-3-8b h100-sxm gpus=8 precision=fp8 runtime=compile batch=2 checkpoint=full
gpt2 rtx4070 optimizer=adamw8bit batch=4
gpt2 rtx4070 attention=math batch=4
gpt2 rtx4070 dataloader_ms=300 batch=4
gpt2-xl rtx4090 gpus=2 zero=2 batch=1 grad_clip=0
""".strip().split("\n")


def axe_source():
    path = os.environ.get("MFUPLAN_AXE")
    if not path:
        try:
            import axe_core_python
            path = pathlib.Path(axe_core_python.__file__).with_name("axe.min.js")
        except ImportError:
            return None
    return pathlib.Path(path).read_text()


failures = []


def expect(well, what):
    if not well:
        failures.append(what)
        print("FAILED:", what, flush=True)


def link(words):
    model, gpu, *settings = words
    return urllib.parse.urlencode([("model", model), ("gpu", gpu), *(s.split("=") for s in settings)])


def written(folder, commands):
    """The sections of the program's own report, or its complaint."""
    r = subprocess.run([PROGRAM, "-e", commands], cwd=folder, capture_output=True, text=True,
                       env=dict(os.environ, LC_ALL="C.UTF-8", MFUPLAN_CALIBRATIONS=""), stdin=subprocess.DEVNULL)
    if r.returncode:
        return r.stderr.strip()
    page = (pathlib.Path(folder) / "r.html").read_text()
    return {m[1]: m[0] for m in re.finditer(r'<section id="(\w+)">.*?</section>\n', page, re.S) if m[1] != "scenario"}


SHOWN = """(() => { const lines = [...new URLSearchParams(location.hash.slice(1))].map(([k, v]) => '\\n' + k + ' ' + v).join('');
const a = mfuplan.ask('draw' + lines), b = a.error ? a : mfuplan.ask('levers' + lines);
return {error: a.error || b.error, said: document.getElementById('said').textContent, line: document.getElementById('line').textContent,
  sections: Object.fromEntries([...(a.sections || []), ...(b.sections || [])].map(s => [s.id, s.html])),
  figures: [...document.querySelectorAll('#drawn data')].map(d => [d.getAttribute('name') || d.title || '', d.value])}; })()"""


def compare(c):
    """Every scenario in turn, through the link, as a reader would open it."""
    planned = 0
    with tempfile.TemporaryDirectory() as folder:
        for scenario in SCENARIOS:
            words = scenario.split()
            c.until("location.hash === '#' + new URLSearchParams(pairs())")
            before = c.run("mfuplan.timings.length")
            c.run(f"location.hash = {json.dumps(link(words))}")
            c.until(f"mfuplan.timings.length > {before}")
            c.until("mfuplan.settled()")
            shown = c.run(SHOWN)
            typed = shlex.split(shown["line"])
            expect(typed[:2] == ["mfuplan", "-e"] and len(typed) == 3, f"{scenario}: a command line: {shown['line']}")
            own = written(folder, re.sub(r"plan$", "report r.html --force", typed[2]))
            if isinstance(own, str):
                expect(shown["error"] and shown["error"].split("\n")[0][:60] in own, f"{scenario}: {shown['error']!r}, not {own!r}")
                continue
            planned += 1
            expect(not shown["error"], f"{scenario}: {shown['error']}")
            expect(shown["sections"].keys() == own.keys(), f"{scenario}: sections {list(shown['sections'])}, not {list(own)}")
            for name, html in own.items():
                expect(shown["sections"].get(name) == html, f"{scenario}: {name} is not what the program writes")
            figures = re.findall(r'<data [^>]*value="([^"]*)"', "".join(h for n, h in own.items() if n != "levers"))
            expect([v for _, v in shown["figures"]] == figures, f"{scenario}: figures in the document")
    expect(planned >= len(SCENARIOS) - 4, f"only {planned} of the scenarios can be planned")
    print(f"{planned} of {len(SCENARIOS)} scenarios planned, {len(SCENARIOS) - planned} refused by both")


def key(c, name, code):
    for kind in ("keyDown", "keyUp"):
        c.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)


def hands(c):
    c.run("location.hash = 'model=gpt2&gpu=rtx4070'")
    c.until("document.getElementById('line').textContent.includes('model gpt2; gpu rtx4070; plan')")
    c.run("document.querySelector('#k-batch').parentElement.querySelector('[type=range]').focus()")
    for _ in range(3):
        key(c, "ArrowRight", 39)
    c.until("document.getElementById('line').textContent.includes('set batch 8')")
    expect(c.run("document.querySelector('#k-batch').value") == "8", "the slider's number")
    c.until("location.hash.includes('batch=8')")
    c.run("(s => { s.value = 'compile'; s.dispatchEvent(new Event('change')); })(document.querySelector('#k-runtime'))")
    c.until("document.getElementById('line').textContent.includes('runtime compile')")
    step = c.run("document.querySelectorAll('.tile b')[1].textContent")
    plan = subprocess.run([PROGRAM, "-e", "model gpt2; gpu rtx4070; set batch 8 runtime compile; plan"],
                          capture_output=True, text=True, env=dict(os.environ, LC_ALL="C.UTF-8", MFUPLAN_CALIBRATIONS="")).stdout
    expect(step.replace("\u00a0", " ") in plan.replace("\u00a0", " "), f"the step of the program: {step}")
    c.run("(s => { s.value = 'nonsense'; s.dispatchEvent(new Event('change')); })(document.querySelector('#k-batch'))")
    c.until("document.getElementById('said').textContent")
    expect("those from before" in c.run("document.getElementById('said').textContent"), "a value that cannot be read is said")
    c.run("[...document.querySelectorAll('button')].find(b => b.textContent.includes('defaults')).click()")
    c.until("!document.getElementById('said').textContent && !document.getElementById('line').textContent.includes('set')")
    c.until("document.getElementById('changes').children.length && document.getElementById('why-text').textContent.includes('MFU')")
    own = subprocess.run([PROGRAM, "-q", "-e", "model gpt2; gpu rtx4070; why vram"], capture_output=True, text=True,
                         env=dict(os.environ, LC_ALL="C.UTF-8", MFUPLAN_CALIBRATIONS="")).stdout
    c.run("(s => { s.value = 'vram'; s.dispatchEvent(new Event('change')); })(document.querySelector('#topic'))")
    c.until(f"document.getElementById('why-text').textContent.trim() === {json.dumps(own.strip())}")
    lessons = c.run("[...document.querySelector('#lesson').options].map(o => o.value).filter(Boolean)")
    expect(len(lessons) > 8, "lessons")
    for name in lessons:
        c.run(f"(s => {{ s.value = '{name}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('#lesson'))")
        c.until("document.querySelectorAll('.lesson > *').length > 5")
    c.run("[...document.querySelectorAll('.lesson button')].at(0).click()")
    c.until("document.getElementById('line').textContent.includes('set')", 20)


def judge(axe, c, what):
    c.run(axe + "; 0")
    result = c.run("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => "
                   "v.id + ': ' + v.nodes.map(n => n.target.join(' ') + ' ' + n.failureSummary).slice(0, 3).join(' | ')))")
    for violation in result:
        expect(False, f"{what}: {violation}")


def open_page(browser, fragment, page=PAGE, **screen):
    c = chrome.Chrome(browser, **screen)
    c.call("Page.navigate", url=page.as_uri() + (fragment and "#" + fragment))
    c.until("window.mfuplan && mfuplan.ready && document.getElementById('changes').children.length", 120)
    return c


def main():
    browser = chrome.find()
    if not browser or not PAGE.exists():
        print("skipped: " + ("no page was built" if browser else "no Chromium here"))
        return 77
    axe = axe_source()
    if not axe:
        print("axe-core is not here: not asked")
    for what, screen in (("by day", {}), ("by night", {"dark": True}), ("on a telephone", {"width": 390, "height": 844, "touch": True})):
        c = open_page(browser, "model=llama-3-8b&gpu=h100-sxm&gpus=8&zero=3", **screen)
        if axe:
            judge(axe, c, what)
        wide = c.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        expect(wide <= 0, f"{what}: {wide} pixels stand out on the right")
        if PICTURES:
            c.screenshot(f"{PICTURES}/{what.replace(' ', '-')}.png")
        if not screen:
            hands(c)
            if axe:
                judge(axe, c, "with a lesson")
            compare(c)
            times = sorted(c.run("mfuplan.timings"))
            print(f"redrawn {len(times)} times: {times[0]:.1f} ms at best, {times[len(times) // 2]:.1f} ms in the middle")
        asked = {e["params"]["request"]["url"].split(":")[0] for e in c.events if e["method"] == "Network.requestWillBeSent"}
        expect(asked <= {"file", "blob", "data"}, f"{what}: asked the network: {asked}")
        said = [e["params"] for e in c.events if e["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")]
        expect(not said, f"{what}: the browser complains: {json.dumps(said)[:600]}")
        c.close()
    with tempfile.TemporaryDirectory() as folder:         # a page about one scenario, as `report` leaves it
        live = pathlib.Path(folder) / "live.html"
        subprocess.run([PROGRAM, "-q", "-e", f"gpu h100-sxm; model llama-3-8b; set gpus 8 zero 3 batch 2; report {live} --live"], check=True)
        c = open_page(browser, "", page=live)
        line = c.run("document.getElementById('line').textContent")
        expect("gpu h100-sxm" in line and "batch 2" in line and "zero 3" in line, f"report --live begins with {line}")
        c.close()
    expect(PAGE.stat().st_size <= 3 << 20, "the page is larger than 3 MiB")
    print(f"{len(failures)} failures")
    return bool(failures)


sys.exit(main())
