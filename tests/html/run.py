"""Writes reports and reads them back: well-formed, whole, alone, and with the
figures of the JSON answers.

    run.py PROGRAM DATA_DIR
"""
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

PROGRAM, DATA = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
SECTIONS = ["plan", "memory", "timeline", "roofline", "meters", "levers", "scenario"]
SCENARIOS = [
    "gpu rtx4070; model gpt2; set batch 8 accum 64 runtime compile",
    "gpu rtx4070; model gpt2; set batch 16 vram_reserved 2GB dataloader_ms 9000",       # waits for input
    "gpu rtx4070; model llama-2-7b; set checkpoint full precision bf16-pure",           # does not fit
    "gpu a100-40gb-sxm; model gpt2; set runtime llmc batch 4",                          # one arena
    "gpu h100-sxm; model gpt2-xl; set gpus 8 batch 8 accum 2 runtime compile",          # communication
    "gpu h100-sxm; model gpt2-xl; set pp 4 accum 12 runtime fused schedule zb-h1",       # a pipeline
    "gpu h100-sxm; model gpt2; set n_layer 1 n_embd 96 n_head 3 seq 64 attention math",  # tiny
]
HOSTILE = """<script>alert(1)</script> & "quotes" 'and' é"""
# A reader may look at any element with one of these.
REFERENCES = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")

failures = []


def expect(condition, *what):
    if not condition:
        failures.append(" ".join(str(x) for x in what))


def run(*arguments):
    return subprocess.run([PROGRAM, "--data-dir", DATA, *arguments], capture_output=True, text=True, check=False)


def answer(scenario, command):
    done = run("--json", "-q", "-e", scenario, "-e", command)
    expect(done.returncode == 0, scenario, command, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def at(tree, path):
    for key in path.split("."):
        tree = tree[int(key) if isinstance(tree, list) else key]
    return tree


class Links(html.parser.HTMLParser):
    """What a browser would make of it: elements, and what they refer to."""

    def __init__(self):
        super().__init__()
        self.tags, self.references = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.references += [value for name, value in attrs if name in REFERENCES]


def figures_agree(page, scenario):
    """Every <data> is the figure of that name in the JSON answers."""
    truth = answer(scenario, "plan")
    truth["metrics"] = answer(scenario, "metrics")
    truth["advise"] = answer(scenario, "advise")
    seen = set()
    for element in page.iter("data"):
        key, value = element.get("data-key"), float(element.get("value"))
        want = at(truth, key)
        seen.add(key)
        slack = 1.5 if key.endswith("bytes") else 1e-9 * abs(want)        # JSON has whole bytes
        expect(abs(value - want) <= slack, scenario, key, value, "not", want)
        expect(element.text and "nan" not in element.text, scenario, key, "reads", element.text)
    for key in ("memory.fill", "memory.peak_allocated_bytes", "memory.peak_reserved_bytes", "memory.smi_used_bytes",
                "step.step_time_s", "step.tokens_per_s", "mfu.mfu", "metrics.sm_active", "metrics.mfu"):
        expect(key in seen, scenario, key, "is not on the page")


def bar_agrees(page, scenario):
    """Pieces of the bar are as long as their bytes, and lie side by side."""
    memory = answer(scenario, "memory")
    names = {"weights": "weights", "gradients": "gradients", "optimizer": "optimizer", "casts": "weight_casts",
             "activations": "activations", "logits": "logits_loss", "workspace": "workspace",
             "communication": "communication", "other": "other"}
    for bar in (x for x in page.iter("svg") if "split" in x.get("class").split()):
        pieces = [x for x in bar.iter("rect") if x.get("class").startswith("seg ")]
        right, bytes_of = 0, {part["name"]: part["bytes"] for part in memory["parts"]}
        width, used = float(bar.get("viewBox").split()[2]) - 2, sum(bytes_of.values())
        for piece in pieces:
            name = piece.get("class").split()[1]
            expect(abs(float(piece.get("x")) - right) < 0.11, scenario, name, "is not beside the one before")
            right = float(piece.get("x")) + float(piece.get("width"))
            expect(right <= width + 0.2, scenario, name, "lies outside")
            if name in names:
                used -= bytes_of[names[name]]
        expect(abs(used) < 2 * len(pieces), scenario, "the bar lacks", used, "bytes")
        allocated = sum(float(x.get("width")) for x in pieces if x.get("class").split()[1] in names)
        whole = max(memory["capacity_bytes"], memory["fill"] * memory["capacity_bytes"])
        expect(abs(allocated - memory["peak_allocated_bytes"] / whole * width) < 1, scenario, "the bar's scale")


def drawings_stay_inside(page, scenario):
    for svg in page.iter("svg"):
        width, height = (float(x) for x in svg.get("viewBox").split()[2:])
        expect(svg.get("aria-label"), scenario, "a drawing has no name")
        for text in svg.iter("text"):
            x, y, letters = float(text.get("x")), float(text.get("y")), 5.5 * len(text.text or "")
            if text.get("transform"):
                continue
            left = x - {"middle": letters / 2, "end": letters}.get(text.get("text-anchor"), 0)
            expect(left >= -3 and left + letters <= width + 3 and 8 <= y <= height, scenario, "cut off:", text.text)


def check(path, scenario):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect(text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n"), scenario, "is not whole")
    try:
        page = xml.fromstring(text.split("\n", 1)[1])
    except xml.ParseError as error:
        expect(False, scenario, "is not well-formed:", error)
        return
    sections = [s.get("id") for s in page.iter("section")]
    if " pp " in scenario:
        expect(sections.pop(2) == "pipeline", scenario, "the pipeline")
    expect(sections == SECTIONS, scenario, "sections")
    links = Links()
    links.feed(text)
    links.close()
    expect(not links.tags & {"script", "img", "iframe", "object", "embed", "base"}, scenario, "has", links.tags)
    for reference in links.references:
        expect(reference == "data:," or (reference.startswith("#") and reference[1:] in SECTIONS + ["pipeline"]), scenario, "refers to", reference)
    style = "".join(page.find("head/style").itertext())
    expect("@import" not in style and "url(" not in style, scenario, "the style refers to something")
    for rule in ("prefers-color-scheme:dark", "@media print", "max-width:"):
        expect(rule in style, scenario, "has no", rule)
    expect(any(m.get("name") == "viewport" for m in page.iter("meta")), scenario, "has no viewport")
    shown = " ".join("".join(x.itertext()) for x in page.find("body").iter("section"))
    expect(not re.search(r"\b(nan|inf|-inf)\b", shown), scenario, "shows what is no number")
    expect(not re.search(r"\bnan\b|\binf\b", " ".join(str(v) for x in page.iter() for k, v in x.items() if k != "aria-label")),
           scenario, "draws what is no number")
    figures_agree(page, scenario)
    bar_agrees(page, scenario)
    drawings_stay_inside(page, scenario)

    # The commands on it make the same scenario again.
    script = "".join(page.find(".//pre/code").itertext())
    with open("again.mfu", "w", encoding="utf-8") as file:
        file.write(script + "report again.html\n")
    done = run("-q", "again.mfu")
    expect(done.returncode == 0, scenario, "made again:", done.stderr)
    with open("again.html", encoding="utf-8") as file:
        again = file.read()
    if "chosen: this is the default" not in text:
        expect(again == text, scenario, "made again is another page")


def hostile_names():
    """A name of a model is text, whatever it looks like."""
    with open("odd.yaml", "w", encoding="utf-8") as file:
        file.write(f"name: {json.dumps(HOSTILE, ensure_ascii=False)}\nextends: gpt2\ndims: {{n_layer: 2}}\n")
    scenario = "gpu rtx4070; model ./odd.yaml; set batch 2"
    done = run("-q", "-e", scenario, "-e", "report odd.html")
    expect(done.returncode == 0, done.stderr)
    if done.returncode:
        return
    check("odd.html", scenario)
    with open("odd.html", encoding="utf-8") as file:
        text = file.read()
    expect("<script" not in text, "a name becomes an element")
    expect(HOSTILE in "".join(xml.fromstring(text.split("\n", 1)[1]).find(".//h1").itertext()), "a name is not what it was")


def whole_or_not_at_all():
    with open("old.html", "w", encoding="utf-8") as file:
        file.write("old")
    expect(run("-q", "-e", "report old.html --force").returncode == 0, "an existing file is not replaced")
    expect(os.path.getsize("old.html") > 10000, "an existing file is not replaced")
    done = run("-e", "report nowhere/page.html")
    expect(done.returncode == 1 and "nowhere/page.html" in done.stderr and "No such file" in done.stderr, done.stderr)
    done = run("-e", "report .")
    expect(done.returncode == 1 and ("directory" in done.stderr or "a page is a file" in done.stderr), done.stderr)
    done = run("-e", "report")
    expect(done.returncode == 1, "no file is named, and nothing said")
    done = run("-q", "-e", "report /dev/full")
    expect(done.returncode == 1 and "No space left" in done.stderr, "a full disk goes unseen:", done.stderr)
    reply = answer("set batch 2", "report page.html")
    expect(reply["file"] == "page.html" and reply["sections"] == SECTIONS and reply["schema"] == 1, reply)
    expect(not [name for name in os.listdir(".") if name.startswith(("old.html.", "page.html."))], "halves are left behind")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for each in SCENARIOS:
        written = run("-q", "-e", each, "-e", "report page.html")
        expect(written.returncode == 0, each, written.stderr)
        if written.returncode == 0:
            check("page.html", each)
    hostile_names()
    whole_or_not_at_all()
    os.chdir("/")
for failure in failures[:40]:
    print(failure)
sys.exit(1 if failures else 0)
