# Distributed under the Boost Software License, Version 1.0.
# assemble.py SOURCES BUILT: puts styles, scripts and the compiled library into one file, BUILT/headroom.html.
import base64
import gzip
import pathlib
import re
import sys

sources, built = map(pathlib.Path, sys.argv[1:])
page = (sources / "index.html").read_text()


def script(text, attributes=""):
    assert "</script" not in text, "a script must not end its element"
    return f"<script{attributes}>{text}</script>"


page = re.sub(r'<link rel="stylesheet" href="([^"]+)">', lambda m: f"<style>\n{(sources / m[1]).read_text()}</style>", page)
page = re.sub(r'<script src="([^"]+)"></script>', lambda m: script("\n" + (sources / m[1]).read_text()), page)
engine = (built / "engine.js").read_text() + "\n" + (sources / "worker.js").read_text()
library = base64.b64encode(gzip.compress((built / "engine.wasm").read_bytes(), 9, mtime=0)).decode()
names = (built / "names.json").read_text().replace("<", "\\u003c")
page = page.replace("<!-- names -->", script(names, ' type="application/json" id="names"'))
page = page.replace("<!-- engine -->", script(engine, ' type="text/plain" id="engine"') + "\n" + script(library, ' type="text/plain" id="library"'))
to = built / "headroom.html"
to.write_text(page)
print(f"{to}: {len(page):,} bytes, {len(gzip.compress(page.encode(), 9)):,} compressed")
