#!/usr/bin/env python3
"""Conversations over a pseudo-terminal: run.py PROGRAM DATA_DIR FAKE_NVML [--without NAME ... | FILE.tty ...]

Lines of a conversation: `$ OPTIONS`, `gpus` a driver with GPUs, `rc COMMANDS` the user's own file, `editor
COMMAND` that of `edit`, `pager COMMAND` what long answers go through on a terminal of 24 lines,
`again` ends one conversation and begins the next, `> TEXT` waits for it (^M: a line ends), `< KEYS` types them
(^M Enter, ^I Tab, ^C, ^D ...), `k NAME` sends a signal, `pause N` lets N seconds pass, `= N` is the exit status, `h LINE` a line of the
history, in order.  Keys are typed when what was awaited has come.
"""
import fcntl, glob, os, pty, re, select, signal, stat, struct, sys, tempfile, termios, time

PATIENCE_S = 30


class Conversation:
    def __init__(self, program, data, options, folder, nvml, rc, editor, pager):
        self.history = os.path.join(folder, "history")
        if rc:
            os.makedirs(os.path.join(folder, "mfuplan"), exist_ok=True)
            with open(os.path.join(folder, "mfuplan", "rc"), "w") as out:
                out.write(rc + "\n")
        environment = dict(os.environ, TERM="vt100" if pager else "dumb", INPUTRC="/dev/null", LC_ALL="C",
                           MFUPLAN_HISTORY=self.history, MFUPLAN_PAGER=pager or "cat", MFUPLAN_NVML=nvml, VISUAL=editor, TMPDIR=folder,
                           XDG_STATE_HOME=os.path.join(folder, "st[a]te *"), XDG_CONFIG_HOME=folder)
        environment.pop("COLUMNS", None)    # the window's own
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.execve(program, [program, "--data-dir", data, "--ascii", *options], environment)

    def read(self, until):
        if not select.select([self.fd], [], [], max(0, until - time.monotonic()))[0]:
            raise AssertionError("timed out")
        try:
            more = os.read(self.fd, 4096).decode(errors="replace")
        except OSError:
            more = ""
        if not more:
            raise AssertionError("it has ended")
        self.seen += more

    def wait(self, text):
        until = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            self.read(until)
        self.seen = self.seen.split(text, 1)[1]

    def type(self, keys):
        keys = re.sub(r"\^([A-Z])", lambda m: chr(ord(m[1]) - 64), keys)
        os.write(self.fd, keys.encode())

    def status(self):
        until = time.monotonic() + PATIENCE_S
        try:
            while True:
                self.read(until)
        except AssertionError as end:
            if str(end) != "it has ended":
                raise
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)    # negative: died by a signal


def run(program, data, nvml, path):
    lines = open(path).read().splitlines()
    options = [word for line in lines if line.startswith("$ ") for word in line[2:].split()]
    rc = "\n".join(line[3:] for line in lines if line.startswith("rc "))
    editor = next((line[7:] for line in lines if line.startswith("editor ")), "")
    pager = next((line[6:] for line in lines if line.startswith("pager ")), "")
    nvml = nvml if "gpus" in lines else ""
    with tempfile.TemporaryDirectory() as folder:
        c = Conversation(program, data, options, folder, nvml, rc, editor, pager)
        try:
            for number, line in enumerate(lines, 1):
                try:
                    if line.startswith("> "):
                        c.wait(line[2:].replace("^M", "\r\n"))
                    elif line.startswith("< "):
                        c.type(line[2:])
                    elif line == "again":
                        c.type("^D")
                        assert (got := c.status()) == 0, f"exit status {got}"
                        os.close(c.fd)
                        c = Conversation(program, data, options, folder, nvml, rc, editor, pager)
                    elif line.startswith("pause "):
                        time.sleep(float(line[6:]))
                    elif line.startswith("k "):
                        os.kill(c.pid, getattr(signal, line[2:]))
                    elif line.startswith("= "):
                        assert (got := c.status()) == int(line[2:]), f"exit status {got}"
                        if os.path.exists(c.history):
                            assert stat.S_IMODE(os.stat(c.history).st_mode) == 0o600, "mode of the history"
                except AssertionError as problem:
                    return f"{path}:{number}: {line}: {problem}; seen: {c.seen!r}"
            wanted = [line[2:] for line in lines if line.startswith("h ")]
            got = open(c.history).read().splitlines() if os.path.exists(c.history) else []
            if wanted and got != wanted:
                return f"{path}: the history is {got}"
        finally:
            if c.pid:
                os.kill(c.pid, signal.SIGKILL)
                os.waitpid(c.pid, 0)
            os.close(c.fd)
    return None


def together(program, data):
    """Conversations that end at once, over a history that is full: every line of all of them stays."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "history"), "w") as full:
            full.writelines(f"print {i}\n" for i in range(2000))
        all_of_them = [Conversation(program, data, [], folder, "", "", "", "") for _ in range(4)]
        for n, c in enumerate(all_of_them):
            for i in range(8):
                c.wait("mfuplan> ")
                c.type(f"print {n}*1000+{i}^M")
            c.wait("mfuplan> ")
        for c in all_of_them:
            c.type("^D")
        for c in all_of_them:
            c.status()
            os.close(c.fd)
        kept = open(os.path.join(folder, "history")).read().splitlines()
        lost = [f"print {n}*1000+{i}" for n in range(4) for i in range(8) if f"print {n}*1000+{i}" not in kept]
        return f"conversations that end at once lose of their history {lost}" if lost else None


if __name__ == "__main__":
    program, data = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    nvml = os.path.abspath(sys.argv[3])
    without = sys.argv[5:] if sys.argv[4:5] == ["--without"] else []
    few = [] if without else sys.argv[4:]
    files = few or [path for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*.tty")))
                    if os.path.basename(path).removesuffix(".tty") not in without]
    try:
        for fd in pty.openpty():
            os.close(fd)
    except OSError as e:
        print(f"skipped: no pseudo-terminal can be opened here ({e.strerror})")
        sys.exit(77)
    problems = [problem for path in files if (problem := run(program, data, nvml, path))]
    if not few and (problem := together(program, data)):
        problems.append(problem)
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
