# Distributed under the Boost Software License, Version 1.0.
# The map of the library is true: include/headroom/README.md names every folder, every path in it exists, and no header includes one of a room
# that stands after its own in the map's table. Rooms of one row stand side by side. And each test file has a
# namespace of its own, and compiles with clang 14, too.
#   python3 test_map.py
import pathlib, re, unittest

ROOT = pathlib.Path(__file__).parents[2]
LIBRARY = ROOT / "include/headroom"
MAP = (LIBRARY / "README.md").read_text()


def rooms_of(text):
    """The rooms and the rows of the table in which they stand, folders with a slash at the end."""
    table = text.split("| room | is |\n|---|---|\n")[1].split("\n\n")[0]
    return [(room, row) for row, line in enumerate(table.splitlines()) for room in re.findall(r"`([^`]+)`", line.split("|")[1])]


def room_of(path, rooms):
    """The most special room that a header lies in, or None."""
    found = [room for room in rooms if path == room or (room.endswith("/") and path.startswith(room))]
    return max(found, key=len, default=None)


def upward(includes, rooms):
    """What includes a header of a room that stands later, or lies in no room."""
    wrong, rows = [], dict(rooms)
    for path, included in includes:
        own, other = room_of(path, rows), room_of(included, rows)
        if own is None or other is None:
            wrong.append(f"{path if own is None else included} is in no room of the map")
        elif rows[other] > rows[own]:
            wrong.append(f"{path} ({own}) includes {included} ({other}), which stands above it")
    return wrong


def without_namespace(text):
    """What a test file has outside its namespace, the namespace's name or None, and what is inside."""
    found = re.search(r"^namespace (test_\w+) \{\n(.*)^\}  // namespace \1$", text, re.M | re.S)
    return (text[:found.start()] + text[found.end():], found[1], found[2]) if found else (text, None, "")


def captured_bindings(text):
    """Structured bindings of a loop that doctest's CAPTURE takes by a lambda: clang 14 refuses that, and the stage of coverage is built by it."""
    wrong = []
    for found in re.finditer(r"^( *)for \(const auto& \[([^\]]*)\] :(.*?)^\1\}", text, re.M | re.S):
        names = [name.strip() for name in found[2].split(",")]
        wrong += [name for name in re.findall(r"\b(?:CAPTURE|INFO)\((\w+)[.)]", found[3]) if name in names]
    return wrong


CHANGES = re.compile(r"\b(?!walk_)\w+\(p[,)]|\bp\.(?:make|step|input)\(")


def arguments(text, at):
    """What stands between commas behind the opening bracket before `at`, and where its closing one is."""
    parts, depth = [""], 0
    for i in range(at, len(text)):
        if depth == 0 and text[i] == ")":
            return parts, i
        depth += (text[i] in "([{") - (text[i] in ")]}")
        parts = parts + [""] if depth == 0 and text[i] == "," else parts[:-1] + [parts[-1] + text[i]]
    return parts, len(text)


def unordered(text):
    """Calls of which two arguments, and sums of which two terms, put steps into a program: g++ takes the last first, clang the first."""
    wrong = []
    for found in re.finditer(r"[\w>)]\(", text):
        parts, end = arguments(text, found.end())
        if sum(bool(CHANGES.search(part)) for part in parts) > 1:
            wrong.append(text[found.start():end + 1])
    for found in CHANGES.finditer(text):
        behind = text[arguments(text, found.end() if found[0].endswith("(") else text.index("(", found.start()) + 1)[1] + 1:].split(";")[0]
        term = re.match(r"(?:\.bit\(\))?\s*[|+*-]\s([^,;]*)", behind)
        if term and CHANGES.search(term[1]):
            wrong.append(found[0] + behind)
    return wrong


class TheMap(unittest.TestCase):
    def headers(self):
        return {str(p.relative_to(LIBRARY)): p.read_text() for p in sorted(LIBRARY.rglob("*.hpp"))}

    def test_every_folder_is_a_room(self):
        rooms = [room for room, _ in rooms_of(MAP)]
        self.assertEqual(len(rooms), len(set(rooms)))
        self.assertGreater(len(rooms), 30)
        for path in self.headers():
            folder = path.rpartition("/")[0]
            if folder and folder != "io":
                self.assertIn(folder + "/", rooms, f"{path}: its folder is not in the map")
            else:
                self.assertIn(path, rooms, "a header of a front is not in the map")

    def test_every_path_exists(self):
        for path in re.findall(r"`([a-z_/]+(?:\.hpp|/))`", MAP):
            self.assertTrue((LIBRARY / path).exists(), path)

    def test_no_include_goes_upward(self):
        headers = self.headers()
        includes = [(path, found) for path, text in headers.items() for found in re.findall(r"^#include <headroom/([^>]+)>", text, re.M)]
        self.assertGreater(len(includes), 300)
        self.assertEqual(upward(includes, rooms_of(MAP)), [])

    def test_what_goes_upward_is_seen(self):
        rooms = [("units/", 0), ("block/", 1), ("estimate.hpp", 2), ("io/", 3), ("io/report/", 4), ("io/files/", 4)]
        self.assertEqual(upward([("io/files/a.hpp", "io/report/a.hpp"), ("io/report/a.hpp", "io/files/a.hpp")], rooms), [])
        self.assertEqual(upward([("block/walk.hpp", "units/bytes.hpp"), ("estimate.hpp", "block/walk.hpp"), ("io/report/a.hpp", "io/b.hpp")], rooms), [])
        self.assertEqual(len(upward([("units/bytes.hpp", "block/walk.hpp"), ("block/walk.hpp", "estimate.hpp"), ("io/b.hpp", "io/report/a.hpp"),
                                     ("attic/a.hpp", "units/bytes.hpp")], rooms)), 4)

    def test_no_circle(self):
        includes = {path: re.findall(r"^#include <headroom/([^>]+)>", text, re.M) for path, text in self.headers().items()}
        done, open_ = set(), []

        def visit(path):
            self.assertNotIn(path, open_, "a circle: " + " -> ".join([*open_, path]))
            if path in done:
                return
            open_.append(path)
            for included in includes[path]:
                visit(included)
            open_.pop()
            done.add(path)

        for path in includes:
            visit(path)

    def test_steps_of_a_program_have_an_order(self):
        for path, text in self.headers().items():
            if path.startswith("block/"):
                with self.subTest(path=path):
                    self.assertEqual([call for call in unordered(text) if "[&]" not in call], [], "name the first, and then the second")

    def test_what_has_no_order_is_seen(self):
        self.assertEqual(unordered("y = add(p, first(p, x), second(p, x));"), ["d(p, first(p, x), second(p, x))"])
        self.assertEqual(len(unordered("p.step(p.make(a, 2).bit() | p.make(b, 2), c);")), 1)
        self.assertEqual(unordered("const auto y = first(p, x);\n const auto z = add(p, y, second(p, x));"), [])
        self.assertEqual(unordered("return {first(p, x), second(p, y)};"), [])


class TheTests(unittest.TestCase):
    def test_each_file_has_a_namespace_of_its_own(self):
        """An area is compiled as one file: names of two test files would meet in it."""
        for area in sorted({p.parent for p in (ROOT / "tests").glob("*/test_*.cpp")}):
            seen = {}
            for path in sorted(area.glob("test_*.cpp")):
                before, name, inside = without_namespace(path.read_text())
                self.assertNotRegex(before, r"(?m)^(TEST_CASE|using namespace)", f"{path}: stands outside a namespace")
                self.assertTrue(name, f"{path}: no namespace test_…")
                self.assertNotIn(name, seen, f"{path} and {seen.get(name)} have one namespace")
                seen[name] = path

    def test_no_binding_is_captured(self):
        for path in sorted((ROOT / "tests").rglob("*.cpp")):
            with self.subTest(path=path.relative_to(ROOT)):
                self.assertEqual(captured_bindings(path.read_text()), [], "bind the row, and name its parts")

    def test_what_is_captured_is_seen(self):
        loop = "  for (const auto& [a, b] : rows) {\n    CAPTURE(%s);\n  }\n"
        self.assertEqual(captured_bindings(loop % "b"), ["b"])
        self.assertEqual(captured_bindings(loop % "c"), [])
        self.assertEqual(captured_bindings("  for (const auto& row : rows) {\n    CAPTURE(row.a);\n  }\n"), [])

    def test_what_has_none_is_seen(self):
        self.assertEqual(without_namespace("namespace {\n}\nTEST_CASE(1)\n")[1], None)
        self.assertEqual(without_namespace("// a\nnamespace test_a {\nint x;\n}  // namespace test_a\n")[:2], ("// a\n\n", "test_a"))
        self.assertIn("TEST_CASE", without_namespace("namespace test_a {\n}  // namespace test_a\nTEST_CASE(1)\n")[0])


if __name__ == "__main__":
    unittest.main()
