# Distributed under the Boost Software License, Version 1.0.
# Headers alone, by Conan 2: conan create examples/packaging/conan
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load


class Headroom(ConanFile):
    name = "headroom"
    description = "What training a language model occupies, before it is launched"
    license = "BSL-1.0"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"io": [True, False]}
    default_options = {"io": True}
    no_copy_source = True

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "include/headroom/version.hpp"))
        self.version = ".".join(re.search(rf"HEADROOM_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        copy(self, "include/*", self._root, self.export_sources_folder)
        copy(self, "LICENSE", self._root, self.export_sources_folder)

    def requirements(self):
        self.requires("boost/[>=1.74 <2]", options={"header_only": True}, transitive_headers=True)
        if self.options.io:
            self.requires("nlohmann_json/[>=3.9 <4]", transitive_headers=True)

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "include/*", self.source_folder, self.package_folder)
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "headroom")
        self.cpp_info.components["core"].set_property("cmake_target_name", "headroom::headroom")
        self.cpp_info.components["core"].requires = ["boost::headers"]
        if self.options.io:
            self.cpp_info.components["io"].set_property("cmake_target_name", "headroom::io")
            self.cpp_info.components["io"].requires = ["core", "nlohmann_json::nlohmann_json"]
