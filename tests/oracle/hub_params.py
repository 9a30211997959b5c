"""Parameters of the sizes in models/*.yaml by transformers' own code: hub_params.py PROGRAM > hub_params.csv

Run again: pip install torch transformers==5.23 (CPU, two minutes).  A size is a row of a file's table `variants:`; PROGRAM
says its dims, the file's `huggingface:` what config.json calls them, and the model is built without memory.
With a text behind PROGRAM: the sizes alone whose names contain it.
"""
import csv, glob, json, os, re, subprocess, sys, warnings

warnings.filterwarnings("ignore")
import torch, transformers, yaml
from transformers import CONFIG_MAPPING, AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SIZES = {"n_layer", "n_encoder_layer", "n_head", "n_encoder_head", "n_kv_head", "n_embd", "head_dim", "d_ff", "encoder_ff", "vocab_size",
         "embed_dim", "n_experts", "top_k", "expert_ff", "audio", "n_positions", "n_segments", "n_groups", "embed_width", "head_width",
         "n_dense", "shared", "kv_heads", "wide_ff", "shared_ff", "delta_heads", "longest", "norms", "bias", "tied", "new", "multi_query", "alibi", "parallel_attn", "parallel", "qk_norm"}
FLAGS = {"bias", "tied", "new", "multi_query", "alibi", "parallel_attn", "parallel", "qk_norm"}
CLASSES = {"whisper": AutoModelForSpeechSeq2Seq, "bert": AutoModel, "electra": AutoModel,
           **dict.fromkeys(["t5", "bart", "mbart", "pegasus", "marian", "m2m_100", "blenderbot", "blenderbot-small"], AutoModelForSeq2SeqLM),
           **dict.fromkeys(["roberta", "distilbert", "xlm-roberta-xl", "roberta-prelayernorm", "megatron-bert", "rembert", "modernbert"], AutoModelForMaskedLM)}
# What a dim says by another number than config.json.
WORDS = {"opt-350m": {"do_layer_norm_before": False}, "LFM2": {"full_attn_idxs": [2, 5, 8, 10, 12, 14]}}


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
        key = keys if isinstance(keys, str) or not keys else keys[0]
        if dim in SIZES and dim in dims and keys and not isinstance(getattr(CONFIG_MAPPING[kind], key, None), property):
            words[key] = bool(dims[dim]) if dim in FLAGS else int(dims[dim])
    if kind == "gpt_neo":
        words["attention_types"] = [[["global", "local"], words["num_layers"] // 2]]
    for start, more in WORDS.items():
        words.update(more if name.startswith(start) else {})
    with torch.device("meta"):
        known = AutoModel if dims.get("mlm") == 0 else CLASSES.get(kind, AutoModelForCausalLM)
        model = known.from_config(AutoConfig.for_model(kind, **words))
    return sum(p.numel() for p in model.parameters())


out = csv.writer(sys.stdout, lineterminator="\n")
print(f"# transformers {transformers.__version__}")
out.writerow(["model", "params"])
for path in sorted(glob.glob(os.path.join(ROOT, "models", "*.yaml"))):
    file = table(os.path.basename(path)[:-5])
    if "vocab_size" in file["huggingface"]["dims"] and "patch" not in file["huggingface"]["dims"] and "tower" not in file:     # texts alone
        # transformers 5 ties the heads of T5 1.1, whose files hold them apart.
        kind = file["huggingface"]["model_type"][0]
        for name in (n for n, said in file["variants"].items() if isinstance(said, dict) and kind in CONFIG_MAPPING and not n.startswith(("flan-", "t5-v1_1", "mt5", "umt5", "byt5"))):
            if len(sys.argv) > 2 and sys.argv[2] not in name:
                continue
            out.writerow([name, parameters(name, file)])
            sys.stdout.flush()
