"""Parameters of the sizes in models/*.yaml by transformers' own code: hub_params.py PROGRAM > hub_params.csv

Run again: pip install torch transformers==5.23 (CPU, two minutes).  A size is a row of a file's table `variants:`; PROGRAM
says its dims, the file's `huggingface:` what config.json calls them, and the model is built without memory.
"""
import csv, glob, json, os, re, subprocess, sys, warnings

warnings.filterwarnings("ignore")
import torch, transformers, yaml
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SIZES = {"n_layer", "n_encoder_layer", "n_head", "n_encoder_head", "n_kv_head", "n_embd", "head_dim", "d_ff", "encoder_ff", "vocab_size",
         "embed_dim", "n_experts", "top_k", "expert_ff", "audio", "n_positions", "n_segments", "n_groups",
         "bias", "tied"}
FLAGS = {"bias", "tied"}
CLASSES = {"t5": AutoModelForSeq2SeqLM, "whisper": AutoModelForSpeechSeq2Seq, "roberta": AutoModelForMaskedLM}
# What a dim says by another number than config.json.
WORDS = {"opt-350m": {"do_layer_norm_before": False}}


def table(name):
    file = yaml.safe_load(open(os.path.join(ROOT, "models", name + ".yaml")))
    above = table(file["extends"]) if "extends" in file else {"huggingface": {}}
    known = {**above["huggingface"], **file.get("huggingface", {})}
    known["dims"] = {**above["huggingface"].get("dims", {}), **known.get("dims", {})}
    return {**file, "huggingface": known, "variants": file.get("variants", {})}


def dims_of(name):
    said = subprocess.run([sys.argv[1], "--data-dir", ROOT, "--json", "-e", f"model {name}"], capture_output=True, text=True,
                          env={"MFUPLAN_CALIBRATIONS": ""}, check=True).stdout
    return json.loads(said)["dims"]


def parameters(name, file):
    known = file["huggingface"]
    kind, dims = known["model_type"][0], dims_of(name)
    words = {"tie_word_embeddings": bool(dims["tied"])}
    for dim, keys in known["dims"].items():
        if dim in SIZES and dim in dims and keys:
            key = keys if isinstance(keys, str) else keys[0]
            words[key] = bool(dims[dim]) if dim in FLAGS else int(dims[dim])
    if kind == "gpt_neo":
        words["attention_types"] = [[["global", "local"], words["num_layers"] // 2]]
    for start, more in WORDS.items():
        words.update(more if name.startswith(start) else {})
    with torch.device("meta"):
        model = CLASSES.get(kind, AutoModelForCausalLM).from_config(AutoConfig.for_model(kind, **words))
    return sum(p.numel() for p in model.parameters())


out = csv.writer(sys.stdout, lineterminator="\n")
print(f"# transformers {transformers.__version__}")
out.writerow(["model", "params"])
for path in sorted(glob.glob(os.path.join(ROOT, "models", "*.yaml"))):
    file = table(os.path.basename(path)[:-5])
    if "vocab_size" in file["huggingface"]["dims"] and "patch" not in file["huggingface"]["dims"]:     # texts alone
        # transformers 5 ties the heads of T5 1.1, whose files hold them apart.
        for name in (n for n in file["variants"] if not n.startswith(("flan-t5", "t5-v1_1"))):
            out.writerow([name, parameters(name, file)])
            sys.stdout.flush()
