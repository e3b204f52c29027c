# Distributed under the Boost Software License, Version 1.0.
# What a header offers at namespace scope, outside `detail`, and what is written about it.
import re
from dataclasses import dataclass

TOKEN = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Za-z])\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*', re.S | re.M)
KINDS = re.compile(r"\b(?:struct|class|union|enum(?:\s+class)?|concept|using|namespace)\s+(?:\[\[[^\]]*\]\]\s*|alignas\([^)]*\)\s*)*([\w:]+)?")


@dataclass
class Declared:
    file: str
    line: int
    name: str
    kind: str     # "type", "function", "value" or "member"
    head: str     # the declaration up to its body, on one line
    body: str
    doc: str      # what stands above it or behind it
    defines: bool


def blanked(text):
    """The text without comments, preprocessor lines and the insides of strings; every character keeps its place."""
    def blank(m):
        quote = m[0].lstrip()[0]
        if quote in "\"'R":
            return '"' + re.sub(r"[^\n]", "_", m[0][1:-1]) + '"'
        return re.sub(r"[^\n]", " ", m[0])
    return TOKEN.sub(blank, text)


def end_of(code, i):
    """Behind the bracket that closes the one at i."""
    closing = {"{": "}", "(": ")", "[": "]"}
    stack = []
    while i < len(code):
        if code[i] in closing:
            stack.append(closing[code[i]])
        elif stack and code[i] == stack[-1]:
            stack.pop()
            if not stack:
                return i + 1
        i += 1
    return i


def without_template(head):
    """template <…> and requires taken off the front, whatever is nested in them."""
    head = head.strip()
    while head.startswith("template"):
        i, depth = head.index("<"), 0
        while True:
            depth += {"<": 1, ">": -1}.get(head[i], 0) if head[i - 1] != "-" else 0
            i += 1
            if depth == 0:
                break
        head = head[i:].strip()
    return re.sub(r"^requires\s+\(.*?\)\s+(?=\w)", "", head)


def statements(code, begin, end):
    """(start, end of the head, end) of each statement of a scope."""
    i = begin
    while i < end:
        while i < end and (code[i].isspace() or code[i] == ";"):
            i += 1
        if i >= end:
            return
        start = i
        head = None
        while i < end:
            c = code[i]
            if c in "([":
                i = end_of(code, i)
            elif c == "{":
                head = i if head is None else head
                i = end_of(code, i)
                rest = re.match(r"\s*", code[i:end])[0]
                following = code[i + len(rest):i + len(rest) + 1]
                before = code[start:head]
                if following == ";" or following == ",":
                    continue
                if following and following in "{:(" or re.search(r"[=,:(]\s*\w*$", before) and "(" not in without_template(before).split("=")[0]:
                    continue
                break
            elif c == ";":
                i += 1
                break
            else:
                i += 1
        yield start, head if head is not None else i, i


def docs_of(text):
    """Line -> what is written above a declaration that starts there, and behind its first line."""
    lines = text.splitlines()
    docs = {}
    for n, line in enumerate(lines):
        if line.lstrip().startswith("//"):
            continue
        above, k = [], n - 1
        while k >= 0 and re.match(r"\s*//", lines[k]):
            above.insert(0, lines[k].strip())
            k -= 1
        above = [a.lstrip("/< ").strip() for a in above if a.startswith("///")]  # what a reference shows
        if behind := re.search(r"///<\s*(.+)$", line):
            above.append(behind[1])
        docs[n] = " ".join(above)
    return docs


def of_scope(file, text, code, docs, begin, end, catalogue=""):
    found = []
    previous = None
    for start, head_end, stop in statements(code, begin, end):
        head = " ".join(code[start:head_end].split())
        line = text.count("\n", 0, start)
        plain = without_template(head)
        if plain.startswith(("namespace", "inline namespace")) and code[head_end:head_end + 1] == "{":
            if not re.search(r"\bdetail\b", plain):  # of a namespace of values that one sentence describes
                found += of_scope(file, text, code, docs, head_end + 1, stop - 1, docs.get(line, ""))
            previous = None
            continue
        if plain.startswith(("static_assert", "friend", "public", "private", "protected", "extern", "using namespace", "}")) or not plain:
            continue
        kind = KINDS.match(plain)
        if kind and re.match(r"(struct|class)\s+\w+<", plain):
            continue  # a special case of what is described
        if kind and head_end == stop and not plain.startswith(("using", "concept")):
            continue  # declared, not defined
        bare = re.sub(r"\[\[[^\]]*\]\]", "", plain)
        if kind:
            what, name = "type", kind[1] or ""
        elif re.search(r"\boperator\b", bare) or re.match(r"\w+\(.*\) -> \w+<", bare):
            continue  # what an operator or a deduction guide does is no surprise
        elif (m := re.search(r"([\w~:]+)\s*\(", re.sub(r"decltype\([^)]*\)|alignas\([^)]*\)|explicit\([^)]*\)", "", bare))) and "=" not in bare.split("(")[0]:
            what, name = "function", m[1]
        else:
            what, name = "value", (re.findall(r"([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*(?:=.*)?;?$", bare.split("=")[0].split("{")[0].strip()) or [""])[0]
        doc = docs.get(line, "")
        if not doc and previous and line - previous[0] <= 1 and (what != "type" or plain.startswith("using")):
            doc = previous[1]  # one sentence above several
        if not doc:
            doc = catalogue
        previous = (text.count("\n", 0, stop - 1), doc)
        found.append(Declared(file, line + 1, name, what, head, text[head_end:stop], doc, head_end != stop))
    return found


def public_names(file, text):
    """Every declaration that a user may call or write; of a name that is declared first and defined later, and of a specialisation, the first."""
    code = blanked(text)
    found, described = [], set()
    for d in of_scope(file, text, code, docs_of(text), 0, len(code)):
        if "::" in d.name or d.head.startswith("template <>") or not d.doc and (d.kind, d.name) in described and d.head.startswith(("inline", "constexpr", "template")) and d.defines:
            continue
        if not d.defines:
            described.add((d.kind, d.name))
        found.append(d)
    return found
