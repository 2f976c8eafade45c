#include "storage/ceph_layout.hpp"

#include <algorithm>
#include <charconv>

namespace hakobi::storage::ceph {
namespace {

std::int64_t number_of(std::string_view value, std::string_view name) {
    const std::size_t at = value.find(name);
    if (at == std::string_view::npos) return 0;
    const std::string_view digits = value.substr(at + name.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && number > 0 ? number : 0;
}

}  // namespace

Layout layout_of(std::string_view value) {
    Striping striping;
    striping.stripe_bytes = number_of(value, "stripe_unit=");
    striping.object_bytes = number_of(value, "object_size=");
    striping.num_stripes =
        static_cast<int>(std::min<std::int64_t>(number_of(value, "stripe_count="), 1 << 30));
    const bool is_whole = striping.stripe_bytes > 0 && striping.object_bytes > 0 && striping.num_stripes > 0;
    return is_whole ? Layout::plain(std::move(striping)) : Layout();
}

std::string value_of(const LayoutWish& wish, const Layout& folder) {
    Striping of_folder = {
        .stripe_bytes = default_object_bytes, .num_stripes = 1, .object_bytes = default_object_bytes};
    if (folder.is_striped()) of_folder = folder.parts.back().striping;
    const std::int64_t num_stripes = wish.num_stripes > 0 ? wish.num_stripes : of_folder.num_stripes;
    const std::int64_t stripe = wish.stripe_bytes > 0 ? wish.stripe_bytes : of_folder.stripe_bytes;
    const std::int64_t object = (std::max(of_folder.object_bytes, stripe) + stripe - 1) / stripe * stripe;
    return "stripe_unit=" + std::to_string(stripe) + " stripe_count=" + std::to_string(num_stripes) +
           " object_size=" + std::to_string(object);
}

}  // namespace hakobi::storage::ceph
