// Linked into a test of Output or Input: every array that it puts or reads is on a device then.
#include "device/program.hpp"
#include "output/fixture.hpp"

namespace hakobi::test {
namespace {

using Array = device_test::Array<std::byte>;

std::vector<std::unique_ptr<Array>>& arrays() {
    static auto* const arrays = new std::vector<std::unique_ptr<Array>>;
    return *arrays;
}

template <class T>
std::span<T> on_device(std::span<T> values) {
    if (values.empty()) return values;
    const auto bytes = std::as_bytes(values);
    arrays().push_back(std::make_unique<Array>(std::vector<std::byte>(bytes.begin(), bytes.end())));
    return {reinterpret_cast<T*>(arrays().back()->data()), values.size()};
}

Field field_on_device(Field field) {
    field.data = std::visit([](auto values) { return Field::Data(on_device(values)); }, field.data);
    return field;
}

Mesh::Points points_on_device(Mesh::Points points) {
    return std::visit([](auto values) { return Mesh::Points(on_device(values)); }, points);
}

void read_to_device(Input& in, FieldRead read) {
    std::visit(
        [&]<class T>(std::span<T> values) {
            if (values.empty()) return in.read(read);
            const device_test::Array<T> array(std::vector<T>(values.begin(), values.end()));
            read.data = std::span<T>(array.data(), values.size());
            in.read(read);
            const std::vector<T> found = array.values();
            std::copy(found.begin(), found.end(), values.begin());
        },
        read.data);
}

void overwrite() {
    for (const auto& array : arrays()) array->set(std::vector<std::byte>(array->size(), std::byte{0xee}));
    arrays().clear();
}

const bool is_placed = [] {
    placed = {
        .field = field_on_device, .points = points_on_device, .end_step = overwrite, .read = read_to_device};
    return true;
}();

}  // namespace
}  // namespace hakobi::test
