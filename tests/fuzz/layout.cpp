// Readers of a file's layout as file systems tell it: Lustre's attribute and CephFS's.
#include "input.hpp"
#include "storage/ceph_layout.hpp"
#include "storage/lustre_layout.hpp"

using namespace hakobi;

namespace {

void look_at(const storage::Layout& layout) {
    std::int64_t reached = 0;
    for (const storage::Layout::Part& part : layout.parts) {
        fuzz::require(part.begin_bytes == reached && part.end_bytes > part.begin_bytes);
        reached = part.end_bytes;
        for (const std::int64_t at : {part.begin_bytes, part.end_bytes - 1}) {
            const storage::Stripe stripe = layout.stripe_at(at);
            fuzz::require(stripe.begin_bytes <= at && at < stripe.end_bytes && stripe.object >= 0);
            fuzz::require(stripe.begin_bytes >= part.begin_bytes && stripe.end_bytes <= part.end_bytes);
        }
    }
    fuzz::require(!layout.text().empty() && layout == storage::Layout(layout));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
    look_at(storage::lustre::layout_of(bytes));
    look_at(storage::lustre::layout_of(bytes, 9));
    look_at(storage::ceph::layout_of({reinterpret_cast<const char*>(data), size}));
    return 0;
}
