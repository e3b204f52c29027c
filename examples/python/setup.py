# Distributed under the Boost Software License, Version 1.0.
# Builds the extension by the repository's own CMake files, so that it holds what the program holds. HEADROOM_BUILD names a build folder that is
# there already, HEADROOM_CMAKE more options (-DNAME=VALUE …).
import os, pathlib, re, shlex, shutil, subprocess, sys
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).parent.resolve()
ROOT = HERE.parents[1]


def version() -> str:
    text = (ROOT / "include/headroom/version.hpp").read_text()
    return ".".join(re.search(rf"HEADROOM_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


class by_cmake(build_ext):
    def build_extension(self, ext: Extension) -> None:
        given = os.environ.get("HEADROOM_BUILD")
        folder = pathlib.Path(given).resolve() if given else pathlib.Path(self.build_temp).resolve() / "cmake"
        fresh = [] if (folder / "CMakeCache.txt").exists() else ["-DCMAKE_BUILD_TYPE=Release", "-DHEADROOM_BUILD_TESTS=OFF", "-DHEADROOM_BUILD_BENCH=OFF"]
        if fresh and shutil.which("ninja"):
            fresh += ["-G", "Ninja"]
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, *fresh, "-DHEADROOM_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}", *shlex.split(os.environ.get("HEADROOM_CMAKE", ""))], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "headroom_python"], check=True)
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        built = next((folder / "python").glob("_calls.*"))
        shutil.copyfile(built, target)


setup(version=version(), ext_modules=[Extension("headroom._calls", sources=[])], cmdclass={"build_ext": by_cmake})
