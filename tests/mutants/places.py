# Distributed under the Boost Software License, Version 1.0.
"""Where the library can be changed by one token, as clang reads it.

find(root) gives every place: a file, the span of an expression in it, the same expression changed, and what the change is. Left out is what
only a compiler evaluates (constexpr variables, members' defaults, labels of cases, arguments of templates): a change that is switched on
while the program runs does nothing there. Left out, too, is what prints for people.
"""

import pathlib
import re

from clang.cindex import CursorKind as Kind
from clang.cindex import Index

# Sentences, tables, pictures and pages for people: what is wrong there is seen, and no number depends on it. Functions that only the compiler calls,
# for the models known by name.
LEFT_OUT = re.compile(r"/io/(report/|report_|cost_text|plan_text|diagnosis_|change_spelling|job_reference|job_schema)|/compiled/|/model/family")

SWAPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*"}
COMPARING = re.compile(r" (<=|>=|==|!=|<|>) ")
NOT_EVALUATED = {Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.FIELD_DECL, Kind.CXX_UNARY_EXPR, Kind.TYPE_ALIAS_DECL, Kind.DECL_REF_EXPR,
                 Kind.TYPE_ALIAS_TEMPLATE_DECL, Kind.TEMPLATE_TYPE_PARAMETER, Kind.TEMPLATE_NON_TYPE_PARAMETER, Kind.USING_DECLARATION, Kind.ALIGNED_ATTR}
OPERANDS = {Kind.BINARY_OPERATOR, Kind.CALL_EXPR, Kind.UNEXPOSED_EXPR}
BODIES = {Kind.COMPOUND_STMT, Kind.IF_STMT, Kind.FOR_STMT, Kind.CXX_FOR_RANGE_STMT, Kind.CASE_STMT, Kind.DEFAULT_STMT}


def at_depth_0(text):
  """The text with everything inside brackets, strings and characters blanked."""
  out, depth, i = [], 0, 0
  while i < len(text):
    c = text[i]
    if c in "\"'" and not (c == "'" and i and text[i - 1].isalnum()):
      end = i + 1
      while end < len(text) and text[end] != c:
        end += 2 if text[end] == "\\" else 1
      out.append("_" * (end + 1 - i))
      i = end + 1
      continue
    if c in ")]}":
      depth -= 1
    out.append(c if depth == 0 else "_")
    if c in "([{":
      depth += 1
    i += 1
  return "".join(out)


class Finder:
  def __init__(self, root):
    self.root = root
    self.texts, self.places, self.seen = {}, [], set()

  def text_of(self, name):
    if name not in self.texts:
      raw = pathlib.Path(name).read_bytes()  # clang counts bytes
      self.texts[name] = raw.decode("latin-1")
    return self.texts[name]

  def add(self, file, begin, end, changed, what):
    text = self.text_of(file)[begin:end]
    if (begin, end, file, what) in self.seen or "//" in text or "#" in text or "co_" in text:
      return
    self.seen.add((begin, end, file, what))
    self.places.append({"file": str(pathlib.Path(file).relative_to(self.root)), "line": self.text_of(file).count("\n", 0, begin) + 1,
                        "begin": begin, "end": end, "changed": " ".join(changed.split()), "what": what})

  def operator(self, c, children, file, begin, text):
    """a < b, whether built in, overloaded or rewritten."""
    if c.kind == Kind.BINARY_OPERATOR and len(children) == 2 or c.kind == Kind.CALL_EXPR and c.spelling.startswith("operator") and len(children) > 1:
      left, right = children[0].extent.end.offset - begin, children[-1].extent.start.offset - begin
      between = text[left:right].strip()
    elif c.kind == Kind.UNEXPOSED_EXPR and len(found := list(COMPARING.finditer(at_depth_0(text)))) == 1:
      left, right, between = found[0].start(), found[0].end(), found[0][1]
      if re.search(r" (\?|&&|\|\||=|<<|>>) |^!", at_depth_0(text)):
        return
    else:
      return
    other = SWAPPED.get(between)
    if not other or between in "+-*/" and ("string" in c.type.spelling or "*" in c.type.spelling):
      return
    self.add(file, begin, begin + len(text), f"{text[:left]} {other} {text[right:]}", f"{between} becomes {other}")

  def own(self, c, parent, file, begin, end):
    """The changes of this expression itself."""
    text = self.text_of(file)[begin:end]
    children = list(c.get_children())
    if c.kind == Kind.INTEGER_LITERAL and re.fullmatch(r"[0-9][0-9']*u?", text):
      around = self.text_of(file)[begin - 1] + self.text_of(file)[end]
      if "<" in around[0] or ">" in around[1]:
        return  # an argument of a template
      sign = "-" if text != "0" and len(self.places) % 2 else "+"
      self.add(file, begin, end, f"{text} {sign} 1", f"{text} becomes {text} {sign} 1")
    elif c.kind == Kind.CXX_BOOL_LITERAL_EXPR:
      self.add(file, begin, end, "false" if text == "true" else "true", f"{text} negated")
    elif c.kind in OPERANDS:
      self.operator(c, children, file, begin, text)
      if c.kind == Kind.CALL_EXPR and (m := re.match(r"((?:\w+::)*)(min|max)\(", text)):
        other = "max" if m[2] == "min" else "min"
        self.add(file, begin, end, m[1] + other + text[m.end(2):], f"{m[2]} becomes {other}")
    if parent.kind in BODIES and re.search(r" [-+*/|&]?= |^[\w.:>\[\]-]+\(", at_depth_0(text)) and self.text_of(file)[end:end + 1] == ";" and \
        not re.match(r"return|refuse|throw|auto|const", text) and (c.kind.is_expression()):
      self.add(file, begin, end, "", "statement dropped")

  def condition(self, c, file):
    children = list(c.get_children())
    if not children or not children[0].kind.is_expression():
      return
    begin, end = children[0].extent.start.offset, children[0].extent.end.offset
    text = self.text_of(file)[begin:end]
    self.add(file, begin, end, f"!({text})", "condition negated")

  def walk(self, c, parent):
    if c.kind in NOT_EVALUATED:
      return
    file = c.extent.start.file.name if c.extent.start.file else None
    children = list(c.get_children())
    if file:
      begin, end = c.extent.start.offset, c.extent.end.offset
      text = self.text_of(file)
      if c.kind in (Kind.VAR_DECL, Kind.UNEXPOSED_DECL) and "constexpr" in re.split(r"[={(]", text[begin:end])[0]:
        return
      if c.kind in (Kind.FUNCTION_DECL, Kind.CXX_METHOD, Kind.FUNCTION_TEMPLATE) and "consteval" in text[begin:end].split("(")[0]:
        return
      if c.kind.is_declaration():  # what stands before the name or in brackets behind it is of its type
        name = c.location.offset
        children = [x for x in children if not x.kind.is_expression() or x.extent.start.offset > name and text[x.extent.start.offset - 1] != "["]
      if c.kind == Kind.CASE_STMT:
        children = children[1:]
      if c.kind == Kind.IF_STMT and text[begin:begin + 12] == "if constexpr":
        children = children[1:]
      elif c.kind in (Kind.IF_STMT, Kind.CONDITIONAL_OPERATOR):
        self.condition(c, file)
      if c.kind.is_expression() or c.kind.is_statement():
        self.own(c, parent, file, begin, end)
    for x in children:
      self.walk(x, c)


def headers(root):
  return sorted(p for p in (root / "include" / "headroom").rglob("*.hpp"))


def find(root, unit, flags):
  """Every place of the headers under root, in the order of files and lines. unit: a file that includes them all."""
  finder = Finder(root)
  parsed = Index.create().parse(str(unit), args=flags)
  wrong = [d for d in parsed.diagnostics if d.severity >= 3]
  if wrong:
    raise SystemExit(f"{unit} does not compile: {wrong[0]}")
  inside = str(root / "include" / "headroom")
  for c in parsed.cursor.get_children():
    file = c.location.file
    if file and file.name.startswith(inside) and not LEFT_OUT.search(file.name):
      finder.walk(c, parsed.cursor)
  return sorted(finder.places, key=lambda p: (p["file"], p["begin"], p["end"]))
