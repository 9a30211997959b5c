"""Parameters of the variants in models/*.yaml by timm itself: timm_params.py > timm_params.csv

Run again: pip install timm==0.6.5 (a minute, no GPU).  Names of another library are left out.
Those that it does not have, by a later one: timm_params.py timm_params.csv > timm_1_params.csv (pip install timm==1.0.31)
"""
import csv, glob, os, re, sys, warnings

warnings.filterwarnings("ignore")
import timm, torch

linspace = torch.linspace
torch.linspace = lambda *a, **k: linspace(*a, **dict(k, device="cpu"))  # its values are read
models = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
other = {row[0] for name in sys.argv[1:] for row in csv.reader(open(name))}
out = csv.writer(sys.stdout, lineterminator="\n")
print(f"# timm {timm.__version__}")
out.writerow(["model", "params"])
for path in sorted(glob.glob(models + "/*.yaml")):
    table = re.search(r"^variants:\n((?:  .*\n)+)", open(path).read(), re.M)
    for name in re.findall(r"^  (\w+):", table[1], re.M) if table else []:
        if timm.is_model(name) and name not in other:
            try:
                with torch.device("meta"):
                    model = timm.create_model(name)
            except NotImplementedError:
                model = timm.create_model(name)
            out.writerow([name, sum(p.numel() for p in model.parameters())])
            sys.stdout.flush()
