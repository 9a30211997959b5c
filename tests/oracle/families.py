"""Parameter counts of published models by transformers and diffusers themselves: families.py > families.csv

The texts are the config.json files as they are published, without the keys that say nothing about the model;
the class that `architectures` names (else the type's causal or bare one) is made on the meta device.  families.csv holds
what is counted and under which version.  Run again: pip install torch transformers diffusers (a minute, no GPU).
"""
import csv, json, re, sys

import diffusers, torch, transformers
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

# id: "Class key value ..."; `+id` takes another's keys first.
PUBLISHED = {}
for line in open(re.sub(r"\.py$", ".txt", __file__)):
    if line.strip() and not line.startswith("#"):
        name, text = line.split(None, 1)
        PUBLISHED[name] = text.strip()


def config(name):
    text = PUBLISHED[name]
    base = {}
    while text.startswith("+"):
        other, _, text = text[1:].partition(" ")
        base.update(config(other))
    base.update(json.loads("{" + text + "}"))
    return base


def count(c):
    if "_class_name" in c:
        with torch.device("meta"):
            return sum(p.numel() for p in getattr(diffusers, c["_class_name"]).from_config(c).parameters())
    made = AutoConfig.for_model(**{k: v for k, v in c.items() if k != "architectures"})
    cls = getattr(transformers, c["architectures"][0])
    with torch.device("meta"):
        model = cls(made)
        model.tie_weights()
    return sum(p.numel() for p in model.parameters())


if __name__ == "__main__":
    out = csv.writer(sys.stdout, lineterminator="\n")
    print(f"# transformers {transformers.__version__}, diffusers {diffusers.__version__}, torch {torch.__version__.split('+')[0]}")
    out.writerow(["id", "model_type", "params", "config"])
    for name in PUBLISHED:
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        try:
            c = config(name)
            out.writerow([name, c.get("model_type") or c["_class_name"], count(c), json.dumps(c)])
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)
        sys.stdout.flush()
