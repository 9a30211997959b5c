"""Parameter counts of published models by transformers and diffusers themselves: families.py > families.csv

The texts are the config.json files as they are published, without the keys that say nothing about the model;
the class that `architectures` names (else the type's causal or bare one) is made on the meta device.  families.csv holds
what is counted and under which version.  `families.py --types > types.csv`: all types of transformers, as their classes
begin.  Run again: pip install torch transformers diffusers (a minute, no GPU).
"""
import csv, glob, json, os, re, sys

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


def types():
    """Each type that transformers has, as its class of configurations begins; with what the class has that comes first of
    those that are trained, unless nothing can be made of it so."""
    from transformers.models.auto import modeling_auto as auto
    tables = [auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
              auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, auto.MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES,
              auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES, auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES]
    described = set(re.findall(r"[\w.-]+", " ".join(
        line for path in glob.glob(re.sub(r"tests/oracle/[^/]*$", "models/*.yaml", os.path.abspath(__file__)))
        for line in re.findall(r"^  model_type: \[(.*)\]", open(path).read(), re.M))))
    for name in sorted(transformers.CONFIG_MAPPING.keys()):
        if name not in described:
            yield name, "", "{\"model_type\": \"%s\"}" % name
            continue
        made = [table[name] for table in tables if name in table] or [None]
        try:
            c = transformers.CONFIG_MAPPING[name]()
            architectures = [each if isinstance(each, str) else each[0] for each in made]
            # A causal class of a part of the configuration cannot be made of all.
            architecture = next(each for each in architectures if each == architectures[-1] or not hasattr(c, "text_config"))
            keys = {k: v for k, v in json.loads(json.dumps(c.to_dict(), default=str)).items() if k not in ("id2label", "label2id")}
            with torch.device("meta"):
                model = getattr(transformers, architecture)(c)
                model.tie_weights()
            yield name, sum(p.numel() for p in model.parameters()), json.dumps(
                {**keys, "architectures": [architecture], "model_type": name})
        except Exception as e:
            print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)


if __name__ == "__main__" and sys.argv[1:] == ["--types"]:
    out = csv.writer(sys.stdout, lineterminator="\n")
    print(f"# transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}")
    out.writerow(["model_type", "params", "config"])
    for each in types():
        out.writerow(each)
elif __name__ == "__main__":
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
