"""A translated page computes what the English one computes: the same figures and
conditions between the same commands, questions and notes, the same terms to go
on with; what the program reads of its head is not too long for it; and no name
leads to two terms.

    run.py DATA_DIR
"""
import collections
import pathlib
import re
import sys

PAGES = pathlib.Path(sys.argv[1]) / "src" / "report" / "words" / "pages"
# Bytes that the program has for the title, what stands behind it, and a line of the head.
LONGEST = {"terms": (63, 159, 255), "lessons": (119, 199, 255), "phrases": (119, 199, 159)}
LONGEST_ALSO = 511
MOST_NAMES = 400                # of terms in one language

failures = []


def expect(condition, *what):
    if not condition:
        failures.append(" ".join(str(x) for x in what))


def folded(name):
    """As mfu_same_name() compares."""
    return re.sub(r"[-_ \t]", "", name).translate({c: c + 32 for c in range(ord("A"), ord("Z") + 1)})


class Page:
    def __init__(self, path):
        self.kind, self.language, self.name = path.parts[-3], path.parts[-2], path.stem
        self.where = f"{self.kind}/{self.language}/{self.name}"
        head, _, self.body = path.read_text(encoding="utf-8").partition("\n\n")
        title, *lines = head.split("\n")
        self.title, _, self.summary = title.removeprefix("# ").partition(": ")
        self.head = dict(line.partition(":")[::2] for line in lines)
        expect(title.startswith("# ") and self.title.strip() and self.summary.strip(), self.where, "has no title")
        expect(all(":" in line for line in lines), self.where, "has a line of the head without a key")

    def names(self):
        also = [name.strip() for name in self.head.get("also", "").split(",")]
        return [self.name, self.title.strip(), *filter(None, also)]

    def check_lengths(self):
        title, summary, line = LONGEST[self.kind]
        expect(len(self.title.encode()) <= title, self.where, "has a long title")
        expect(len(self.summary.strip().encode()) <= summary, self.where, "has a long summary")
        for key, value in self.head.items():
            expect(len(value.strip().encode()) <= (LONGEST_ALSO if key == "also" else line), self.where, "is long:", key)


def outside(text, c):
    """Where `c` stands between blanks and outside of braces, as in report/words/template.c."""
    depth = 0
    for i, x in enumerate(text):
        depth += (x == "{") - (x == "}")
        if depth == 0 and x == c and text[i - 1:i] == " " and text[i + 1:i + 2] in ("", " ", "\n"):
            return i
    return -1


def figures(text):
    """What stands between braces: expressions, conditions, and whether they have an else."""
    found, depth, start = [], 0, 0
    for i, x in enumerate(text):
        if x == "{":
            depth += 1
            start = i + 1 if depth == 1 else start
        elif x == "}":
            depth -= 1
            if depth == 0:
                inner = text[start:i]
                question = outside(inner, "?")
                if question < 0:
                    found.append(inner.strip())
                    continue
                texts = inner[question + 1:]
                found.append(inner[:question].strip() + (" ? :" if outside(texts, ":") >= 0 else " ?"))
                found += figures(texts)
    return found


def pieces(page):
    """Texts, and between them the lines of a lesson that do something."""
    text, found = [], []
    for line in page.body.split("\n"):
        does = page.kind == "lessons" and (line[:2] in ("> ", "? ", "= ") or line in ("...", "---"))
        if not does:
            text.append(line)
            continue
        if any(text):
            found.append(("text", "\n".join(text)))
        text = []
        if line.startswith("? "):
            asked, *rest = line.split(" | ")
            found += [("text", asked), ("question", " | ".join(rest))]
        else:
            found.append(("line", line))
    return found + ([("text", "\n".join(text))] if any(text) else [])


def compare_texts(where, own, english):
    for what, some in (("figures", figures), ("commands", lambda t: set(re.findall(r"`([^`]+)`", t))),
                       ("tables", lambda t: [None for line in t.split("\n") if line.startswith("    ")])):
        a, b = collections.Counter(some(own)), collections.Counter(some(english))
        expect(a == b, f"{where}: {what}: only here: {list(a - b)}, only in English: {list(b - a)}")


def check_questions(page):
    """A figure in a question is in its answer, or what is set; what the text computes there the answer reads (MFU: of the
    peak)."""
    said = " ".join(line for line in page.body.split("\n") if line.startswith("> "))
    for line in page.body.split("\n"):
        if not line.startswith("? "):
            continue
        asked, answer, *_ = line[2:].split(" | ")
        for n in re.findall(r"(?<![\w.])\d[\d.]*(?!\w)", re.sub(r"\{[^}]*\}", "", asked)):
            expect(n.rstrip(".") in re.findall(r"\d[\d.]*", answer + " " + said), page.where, "asks with", n,
                   "which is neither set nor in the answer", answer)
        for name in figures(asked):
            expect(name.partition("|")[0] in answer or answer == "mfu" or name.endswith("_s"), page.where, "asks with", name,
                   "which the answer does not read:", answer)


def see(page):
    """The terms and the commands to go on with."""
    terms, _, commands = page.head.get("see", "").replace("；", ";").partition(";")
    return ([folded(x.strip()) for x in re.split("[,，、]", terms)],
            re.sub("^[^:]*:", "", commands.replace("：", ":")).strip())


def compare(page, english, names):
    expect(list(page.head) == list(english.head), page.where, "has another head:", *page.head)
    own, model = pieces(page), pieces(english)
    expect([x if x[0] != "text" else "text" for x in own] == [x if x[0] != "text" else "text" for x in model],
           page.where, "has other commands, questions or notes")
    for (kind, a), (_, b) in zip(own, model):
        if kind == "text":
            compare_texts(page.where, a, b)
    if page.kind == "terms":
        (a, own_commands), (b, commands) = see(page), see(english)
        expect([names.get(x) for x in a] == [names.get(x) for x in b], page.where, "sees", *a)
        expect(own_commands == commands, page.where, "sees the commands", own_commands)


pages = [Page(path) for path in sorted(PAGES.glob("*/*/*.md"))]
english = {(p.kind, p.name): p for p in pages if p.language == "en"}
names = {}
for p in pages:
    p.check_lengths()
    if p.kind == "lessons" and p.language == "en":      # others have the same figures
        check_questions(p)
    if p.kind == "terms":
        for name in p.names():
            other = names.setdefault(folded(name), p.name)
            expect(other == p.name, p.where, "and", other, "are both called", name)
for language in sorted({p.language for p in pages}):
    n = sum(len(p.names()) - 1 for p in pages if p.kind == "terms" and p.language == language)
    expect(n <= MOST_NAMES, language, "has", n, "names")
for p in pages:
    if p.kind == "terms":
        expect(None not in [names.get(x) for x in see(p)[0]], p.where, "sees what is no term:", *see(p)[0])
    if p.language != "en" and (p.kind, p.name) in english:
        compare(p, english[p.kind, p.name], names)
    expect((p.kind, p.name) in english, p.where, "has no English page")
expect(len(pages) > 50, "only", len(pages), "pages")
print("\n".join(failures) or f"{len(pages)} pages")
sys.exit(bool(failures))
