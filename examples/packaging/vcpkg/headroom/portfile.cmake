# An overlay port: vcpkg install headroom --overlay-ports=examples/packaging/vcpkg
# It takes the clone that it lies in. Headers alone: nothing is compiled.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DHEADROOM_BUILD_TESTS=OFF -DHEADROOM_BUILD_EXAMPLES=OFF -DHEADROOM_BUILD_BENCH=OFF -DHEADROOM_IO=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME headroom CONFIG_PATH share/cmake/headroom)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
