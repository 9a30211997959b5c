"""Parameters of the variants in models/*.yaml by timm itself: timm_params.py > timm_params.csv

Run again: pip install timm==0.6.5 (a minute, no GPU).  Names of another library are left out.
"""
import csv, glob, os, re, sys, warnings

warnings.filterwarnings("ignore")
import timm, torch

linspace = torch.linspace
torch.linspace = lambda *a, **k: linspace(*a, **dict(k, device="cpu"))  # its values are read
models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
out = csv.writer(sys.stdout, lineterminator="\n")
print(f"# timm {timm.__version__}")
out.writerow(["model", "params"])
for path in sorted(glob.glob(models + "/*.yaml")):
    table = re.search(r"^variants:\n((?:  .*\n)+)", open(path).read(), re.M)
    for name in re.findall(r"^  (\w+):", table[1], re.M) if table else []:
        if timm.is_model(name):
            try:
                with torch.device("meta"):
                    model = timm.create_model(name)
            except NotImplementedError:
                model = timm.create_model(name)
            out.writerow([name, sum(p.numel() for p in model.parameters())])
            sys.stdout.flush()
