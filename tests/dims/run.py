#!/usr/bin/env python3
"""Dimensions are the model file's own: run.py PROGRAM DATA_DIR

No dimension has to be there by name.  Of each model one dimension after the other is
taken away, and its value written where it was used: what is planned stays the same.
"""
import glob, json, os, re, subprocess, sys, tempfile

PROGRAM, DATA = (os.path.abspath(p) for p in sys.argv[1:3])
ASSUMED = {"scan": {"heads": "n_head", "head_dim": "head_dim"}, "attention": {"heads": "n_head", "kv_heads": "n_kv_head", "head_dim": "head_dim"}, "sinks": {"heads": "n_head"},
           "route": {"experts": "n_experts", "top_k": "top_k"}, "combine": {"top_k": "top_k"}}
# Still known by name: which attention there is, is chosen by them (scenario/scenario.c).
BY_NAME = ("seq", "head_dim", "attn_softcap", "math_attention")
# Those that choose: an attribute has a word in their place.
WORDS = {"activation": ("gelu", "gelu_tanh", "silu", "relu", "tanh", "scale", "gelu_new", "copy", "clamp", "silu_parts", "fp32", "as_weight", "relu2", "sigmoid"), "added_mask": ("fill", "add"),
         "norm_kind": ("layer", "rms", "rms_fp32", "layer_fp32", "layer_by_hand", "rms_given", "batch", "rms_whole", "layer_1p", "group"), "fp32_softmax": ("as_given", "fp32"), "rotary_type": ("as_given", "pairs", "halves", "complex")}
WORDS["vision_activation"] = WORDS["pooler_activation"] = WORDS["bottleneck_activation"] = WORDS["gate_activation"] = WORDS["activation"]
WORDS["attention_norm_kind"] = WORDS["block_norm_kind"] = WORDS["norm_kind"]
WORDS["pool_kind"] = ("mean", "max", "nearest")
WORDS["evo"] = ("none", "frn", "s0", "b0")
failures = []


def ask(model):
    r = subprocess.run([PROGRAM, "--json", "--data-dir", DATA, "-e", f"gpu h100-sxm; model {model}; set batch 2 runtime compile; plan"],
                       capture_output=True, text=True, env=dict(os.environ, MFUPLAN_CALIBRATIONS=""))
    if r.returncode:
        return None, r.stderr.strip()
    answers = [json.loads(line) for line in r.stdout.splitlines()]
    plan = answers[-1]
    return answers[1]["dims"], {"params": plan["params"], "memory": plan["memory"]["peak_allocated_bytes"],
                                "step": plan["step"]["step_time_s"], "flops": plan["mfu"]["model_flops_per_step"]}


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "m.yaml")
    for file in sorted(glob.glob(os.path.join(DATA, "models", "*.yaml"))):
        text = open(file).read()
        if re.search(r"(?m)^extends:", text):
            continue
        text = re.sub(r"(?ms)^huggingface:.*?(?=^\S|\Z)", "", text)
        text = re.sub(r"(?m)^params:.*\n", "", text)

        def explicit(match):                        # what operations take when they are not told
            op = match[0]
            for attribute, dim in ASSUMED[match[1]].items():
                if not re.search(rf"\b{attribute}:", op):
                    op = op[:-1] + f", {attribute}: {dim}" + "}"
            return op
        text = re.sub(r"\{op: (attention|sinks|route|combine)\b[^}]*\}", explicit, text)
        text = re.sub(r"(\{op: dropout(?![^}]*\bp:)[^}]*)\}", r"\1, p: dropout}", text)
        with open(path, "w") as f:
            f.write(text)
        dims, before = ask(path)
        if dims is None:
            failures.append(f"{file}: {before}")
            continue
        named = set(re.findall(r"\w+", " ".join(re.findall(r"with: \{([^}]*)\}", text))))    # a section says the name
        begin, end = re.search(r"(?m)^dims:\n", text).end(), text.index("\ngraph:")
        for name, value in dims.items():
            own, rest = text[:end], text[end:]
            own = re.sub(rf"(?m)^  {name}:.*\n?", "", own + "\n")
            number = WORDS[name][int(value)] if name in WORDS else "%.17g" % value
            kinds = "" if name in WORDS else "(?<!kind: )"
            inline = lambda part: re.sub(rf"(?<![\w.-])(?<!op: )(?<!name: ){kinds}{name}(?![\w:.-])", number, part)
            with open(path, "w") as f:
                f.write(own[:begin] + inline(own[begin:]) + "".join(
                    line if re.search(rf"in: *\[?[^\]}}]*\b{name}\b", line) else inline(line) for line in rest.splitlines(True)))
            _, after = ask(path)
            if after != before and name not in BY_NAME and name not in named:
                failures.append(f"{os.path.basename(file)} without {name} (= {number}): {after}, not {before}")

for failure in failures:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(len(failures) > 0)
