#pragma once

#include <functional>
#include <hakobi/hakobi.hpp>

namespace hakobi::test {

/// Where tests have their arrays when they put and read them: where they are made, unless on_device.cpp is
/// linked in, which has them on a device.
struct Placement {
    std::function<Field(const Field&)> field = [](const Field& given) { return given; };
    std::function<Mesh::Points(Mesh::Points)> points = [](Mesh::Points given) { return given; };
    /// end_step has returned: what was placed is changed, and freed.
    std::function<void()> end_step = [] {};
    std::function<void(Input& in, const FieldRead& read)> read = [](Input& in, const FieldRead& what) {
        in.read(what);
    };
};
inline Placement placed;

}  // namespace hakobi::test
