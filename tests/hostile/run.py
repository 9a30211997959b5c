#!/usr/bin/env python3
"""Names that others chose, through every command: run.py PROGRAM DATA_DIR

A folder, a file, a model, a GPU, a cell of a table or a line of a log may hold a
newline, a quote, a backtick, an escape sequence, a C1 control character, a mark of
direction or bytes that are no UTF-8.  Whatever a command does with such a name,

  - no command of the name runs (no file PWNED appears),
  - nothing but text, newlines and tabs is written to a terminal,
  - what is JSON is JSON, and every text in UTF-8,
  - a pickle can be read,
  - no line begins that the name alone would begin.

What is no file that ends (a FIFO without a writer, a device) is refused by every
command that reads, and a small table takes little memory.
"""
import glob, json, os, pickle, re, resource, shutil, subprocess, sys, tempfile, unicodedata

PROGRAM, DATA = (os.path.abspath(p) for p in sys.argv[1:3])

NAMES = [
    b"plain",
    b"a\n!touch PWNED\nb",
    b"a'; !touch PWNED; '",
    b'a"; !touch PWNED; "',
    b"`touch PWNED`",
    b"$(touch PWNED)",
    b"|touch PWNED",
    b"a\rVRAM fits",
    b"a\x1b[31m\x1b]0;pwned\x07",
    "a\u009b31m\u009d0;pwned\u009c".encode(),
    "a\u202eb\u2066c\u2028d".encode(),
    b"\xff\xfe",
    b"a\xc3",
    b"<script>PWNED</script>",
    b"-rf",
    b"%s%n%n",
    "grün".encode(),
]

GPU = open(os.path.join(DATA, "gpus", "rtx4070.yaml"), "rb").read()
MODEL = open(os.path.join(DATA, "models", "gpt2.yaml"), "rb").read()
LOG = b"iter %d: loss 3.1, time 300.00ms, mfu 20.00%%\n"
failures = []


def controls(text, allowed="\n\t"):
    return sorted({c for c in text if c not in allowed
                   and (unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in "\u200e\u200f\u061c"
                        or "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069")})


def word(name):
    """A name as a word of the command language."""
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", name) + b'"'


def check(what, condition, detail=""):
    if not condition:
        failures.append(f"{what}: {detail}")


def check_text(what, data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        return check(what, False, f"{e}: {data[:200]!r}")
    check(what, not controls(text), f"control characters {controls(text)!r} in {text[:300]!r}")


def run(folder, *args, environment={}):
    """Runs it in the folder; both streams must be harmless."""
    args = [a if isinstance(a, bytes) else a.encode() for a in args]
    call = b" ".join(args)
    e = dict(os.environ, LC_ALL="C.UTF-8", MFUPLAN_CALIBRATIONS="", COLUMNS="80")
    e.update(environment)
    try:
        r = subprocess.run([PROGRAM.encode(), b"--data-dir", DATA.encode(), *args], cwd=folder, env=e,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        check(repr(call), False, "hangs")
        return 1, b""
    what = f"{call!r} in {folder[-60:]!r}"
    check(what, r.returncode in (0, 1, 2, 3), f"exit status {r.returncode}: {r.stderr[-300:]!r}")
    check_text(what + ": stdout", r.stdout)
    check_text(what + ": stderr", r.stderr)
    lines = (r.stdout + r.stderr).split(b"\n")
    check(what, not any(line.startswith((b"!touch", b"VRAM fits", b"b:")) for line in lines), f"a line of its own: {lines!r}")
    if b"--json" in args:
        for line in r.stdout.splitlines():
            try:
                json.loads(line)
            except ValueError as problem:
                check(what, False, f"{problem}: {line[:300]!r}")
    return r.returncode, r.stdout


def check_written(folder):
    for path in glob.glob(os.path.join(glob.escape(folder), b"*")):
        if not os.path.isfile(path):
            continue
        data = open(path, "rb").read()
        end = os.path.splitext(path)[1]
        if end == b".json":
            try:
                json.loads(data.decode("utf-8"))
            except ValueError as problem:
                check(repr(path), False, str(problem))
        elif end in (b".html", b".svg"):
            try:
                text = data.decode("utf-8")
                check(repr(path), "<script>PWNED" not in text, "a tag of the name")
                check(repr(path), not controls(text, "\n\t\f"), f"control characters {controls(text)!r}")
            except UnicodeDecodeError as problem:
                check(repr(path), False, str(problem))
        elif end == b".pickle":
            try:
                pickle.loads(data)
            except Exception as problem:            # whatever it is
                check(repr(path), False, repr(problem))


WRITERS = [(b"trace", b".json"), (b"memory --snapshot", b".pickle"), (b"memory --snapshot", b".json"), (b"report", b".html"),
           (b"plot memory", b".svg"), (b"plot split --gnuplot kept.gp", b".svg"), (b"save", b".mfu"),
           (b"export params", b".csv"), (b"plot split x.svg --gnuplot", b".gp")]
READERS = [b"model", b"gpu", b"source", b"import", b"observe", b"validate", b"calibrate from"]
TELLERS = [b"plan", b"show", b"model", b"gpu", b"why", b"memory", b"kernels", b"set n_layre 3", b"keep x; compare x"]


def as_file_name(root, i, name):
    """The name is that of the files that are written and read."""
    folder = os.path.join(root, b"files%d" % i)
    os.mkdir(folder)
    for command, end in WRITERS:
        run(folder, "-e", command + b" " + word(name.replace(b"/", b"_") + end))
    run(folder, "--json", "-e", b"trace " + word(name.replace(b"/", b"_") + b".json"))
    for content, end in ((MODEL, b".yaml"), (GPU, b".yml"), (LOG % 1 * 40, b".log"), (b"id,gpu\n1,rtx4070\n", b".csv")):
        path = os.path.join(folder, name.replace(b"/", b"_") + end)
        with open(path, "wb") as f:
            f.write(content)
        for command in READERS:
            run(folder, "-e", command + b" " + word(b"./" + os.path.basename(path)))
        run(folder, "--json", "-e", READERS[i % len(READERS)] + b" " + word(b"./" + os.path.basename(path)))
        if end == b".yaml":
            model = b"model " + word(b"./" + os.path.basename(path))
            for command, ending in WRITERS:
                run(folder, "-e", model + b"; " + command + b" of-it" + ending)
            run(folder, "--json", "-e", model + b"; " + b"; ".join(TELLERS[:6]))
            run(folder, "-e", model + b"; save s.mfu; source s.mfu; plan")
    for word_of in (name, b"--" + name, b"--json=" + name, b"./" + name):
        run(folder, word_of)
    run(folder, "--transcript", b"./" + name + b".yaml")
    run(folder, "--data-dir", name, "-e", "plan")
    check_written(folder)


def as_folder(root, i, name):
    """The name is that of the working folder."""
    folder = os.path.join(root, b"folder%d" % i, name.replace(b"/", b"_"))
    os.makedirs(folder)
    for file in (b"m.svg", b"t.json", b"r.html", b"s.mfu"):
        with open(os.path.join(folder, file), "wb"):
            pass                                    # something to replace, whose path is looked up
    with open(os.path.join(folder, b"m.yaml"), "wb") as f:
        f.write(MODEL)
    run(folder, "-e", "plot memory m.svg; plot memory new.svg; trace t.json; report r.html")
    run(folder, "-e", "model ./m.yaml; save s.mfu; plan; trace t.json; report r.html; plot split m.svg --gnuplot k.gp")
    run(folder, "--json", "-e", "model ./m.yaml; plan; save s.mfu; source s.mfu")
    check_written(folder)


def as_text(root, i, name):
    """The name stands in a model, a GPU, a table, a log, a script, and after every command."""
    folder = os.path.join(root, b"text%d" % i)
    os.mkdir(folder)
    try:
        quoted = json.dumps(name.decode("utf-8")).encode()
    except UnicodeDecodeError:
        quoted = b'"' + name.replace(b'"', b"") + b'"'
    text = name.decode("latin-1")
    model, gpu = (re.sub(rb"(?m)^name:.*$", lambda _: b"name: " + quoted, text) for text in (MODEL, GPU))
    for file, content in (("m.yaml", model), ("g.yaml", gpu), ("l.log", name + b"\n" + LOG % 1 * 40),
                          ("v.csv", b"id,gpu,model,precision,notes\n" + b",".join([b'"' + name.replace(b'"', b'""') + b'"'] * 5) + b"\n"),
                          ("c.json", json.dumps({"model_type": "gpt2", "_name_or_path": name.decode("latin-1"), "n_layer": 2,
                                                 "architectures": [name.decode("latin-1")]}).encode()),
                          ("t.json", json.dumps({"model_type": "llava", "text_config": {"model_type": "llama", "hidden_act": text},
                                                 "vision_config": {"model_type": text, text: 1}, "torch_dtype": text, text: [text]}).encode()),
                          ("a.json", json.dumps({"peft_type": "LORA", "r": 8, "target_modules": [text, "q_proj"], "modules_to_save": [text],
                                                 "base_model_name_or_path": "x/" + text}).encode()),
                          ("d.json", json.dumps({"device_map": {text: 0, "": text}, "model_name_or_path": text, "bf16": text}).encode()),
                          ("k.json", json.dumps({"traceEvents": [{"ph": "X", "cat": cat, "name": text, "ts": at, "dur": 9, "tid": 7, "pid": 0,
                                                                  "args": {"stream": 7, text: text}} for at in range(0, 990, 10)
                                                                 for cat in ("kernel", "user_annotation", "gpu_memcpy")]}).encode()),
                          ("c.csv", b"model,GPU,MFU (%),tokens/s," + quoted + b"\n" + b",".join([b'"' + name.replace(b'"', b'""') + b'"'] * 5) + b"\n"),
                          ("i.sh", b"torchrun pretrain_gpt.py --num-layers " + quoted + b" --" + name + b"\n"),
                          ("i.py", b"batch_size = " + quoted + b"\n" + quoted + b" = 4\n"), ("s.mfu", b"set " + word(name) + b" 3\n")):
        with open(os.path.join(folder, file.encode()), "wb") as f:
            f.write(content)
    for json_too in ((), ("--json",)):
        for file, kind in (("m.yaml", "model"), ("g.yaml", "gpu"), ("c.json", "model"), ("t.json", "model")):
            for teller in TELLERS[:7] if not json_too else TELLERS[:4]:
                run(folder, *json_too, "-e", f"{kind} ./{file}; ".encode() + teller)
        for command in ("validate v.csv", "calibrate from v.csv", "observe l.log", "observe v.csv", "import i.sh", "import i.py", "source s.mfu",
                        "import a.json; plan; why", "import d.json; show; save -", "import t.json; show", "trace compare k.json", "audit c.csv", "audit l.log"):
            run(folder, *json_too, "-e", command)
        for command in (b"set", b"print", b"check", b"keep", b"use", b"explain", b"why", b"help", b"sweep", b"solve", b"kernel", b"lesson",
                        b"unset", b"model", b"gpu", b"plot", b"audit", b"order", b"watch", b"rollout", b"buckets", b"complete", b""):
            run(folder, *json_too, "-e", command + b" " + word(name))
        run(folder, *json_too, "-e", b"audit " + word(b"MFU 40 % of " + name + b" on 8 H100 with Llama-3-8B, " + name + b" 9 tok/s"))
    run(folder, "-e", "model ./m.yaml; gpu ./g.yaml; trace t.json; report r.html; plot split p.svg; memory --snapshot m.json; memory --snapshot m.pickle")
    check_written(folder)


def endless(root):
    """Nothing waits for a writer, nor reads a device."""
    folder = os.path.join(root, b"endless")
    os.mkdir(folder)
    for end in (b"", b".yaml", b".yml", b".json", b".csv", b".log", b".mfu", b".sh", b".toml", b".svg"):
        for command in READERS:
            for target in (b"fifo", b"zero", b"folder"):
                path = os.path.join(folder, target + end)
                if not os.path.lexists(path):
                    os.mkfifo(path) if target == b"fifo" else os.mkdir(path) if target == b"folder" else os.symlink(b"/dev/zero", path)
                status, _ = run(folder, "-e", command + b" ./" + os.path.basename(path))
                check(repr((command, path)), status == 1, f"exit status {status}")
    for word_of in (b"./fifo.mfu", b"./zero.mfu", b"./folder.mfu"):
        check(repr(word_of), run(folder, word_of)[0] == 1)
        check(repr(word_of), run(folder, "--transcript", word_of)[0] == 1)
    data = os.path.join(folder, b"data")
    os.mkdir(data)
    for kind in ("gpus", "models"):
        shutil.copytree(os.path.join(DATA, kind).encode(), os.path.join(data, kind.encode()))
        os.mkfifo(os.path.join(data, kind.encode(), b"zz.yaml"))
    for command in ("model nobody-knows", "gpu nobody-knows", "model zz", "gpu zz"):
        run(folder, "--data-dir", data, "-e", command)


def table(root):
    """A table of 256 KB takes no gigabyte."""
    folder = os.path.join(root, b"table")
    os.mkdir(folder)
    columns = ",".join(["id", "gpu"] + [f"c{i}" for i in range(1022)])
    for file, rows in (("empty", "\n" * 250000), ("short", "x\n" * 20000), ("long", ("," * 1023 + "\n") * 200)):
        with open(os.path.join(folder, file.encode() + b".csv"), "w") as f:
            f.write(columns + rows)
        r = subprocess.run([PROGRAM, "--data-dir", DATA, "-e", f"validate {file}.csv"], cwd=folder, capture_output=True, timeout=60,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20)))
        check(f"validate {file}.csv", b"out of memory" not in r.stderr and r.returncode in (0, 1), r.stderr[-200:])


def large(root):
    """The largest file that is read takes seconds: no reader looks at the rest of it from each of its bytes.
    (What is quadratic takes minutes, and run() waits for one.)"""
    folder = os.path.join(root, b"large")
    os.mkdir(folder)
    n = (1 << 20) - 200
    rows = lambda row: "".join(row.format(i=i) for i in range(n // (len(row) + 6)))
    for file, kind, text in (("a.sh", "megatron", 'pretrain --num-layers "' + "x" * n), ("b.sh", "megatron", "pretrain " + "$A " * (n // 3)),
                             ("c.sh", "megatron", rows("A{i}=$A{i}\n")), ("d.sh", "megatron", "pretrain " + "--x=1 " * (n // 6)),
                             ("e.py", "nanogpt", 'a = "' + "x" * n), ("f.py", "nanogpt", rows("a{i} = a{i} * 2\n")),
                             ("g.py", "nanogpt", "a = " + "(" * n), ("h.toml", "torchtitan", "[model]\n" + rows("a{i} = {i}\n").replace("{", "")),
                             ("i.toml", "torchtitan", "a = [" + "1," * (n // 2))):
        with open(os.path.join(folder, file.encode()), "w") as f:
            f.write(text[:n])
        run(folder, "-e", f"import ./{file} {kind}")


with tempfile.TemporaryDirectory() as root:
    root = root.encode()
    large(root)
    if b"__asan_init" not in open(PROGRAM, "rb").read():
        table(root)                                 # a sanitizer reserves terabytes
    endless(root)
    for i, name in enumerate(NAMES):
        as_file_name(root, i, name)
        as_folder(root, i, name)
        as_text(root, i, name)
    for folder, _, files in os.walk(root):
        check("a command has run in", b"PWNED" not in files, repr(folder))
        check("half a file in", not [f for f in files if re.search(rb"\.[0-9a-f]{6}$", f)], repr(folder))

for failure in failures[:40]:
    print(failure)
print(f"{len(failures)} failures")
sys.exit(len(failures) > 0)
