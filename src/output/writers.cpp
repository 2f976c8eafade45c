#include <algorithm>

#include "output/collect.hpp"

namespace hakobi::output {

/// Every n-th rank writes. Chosen: one rank in four, and at least one a node, since messages to a writer on
/// the same node are copies through memory.
Result<std::unique_ptr<Method>> make_writers(const MethodSettings& settings) {
    int stride = settings.options.writer_stride;
    if (stride < 0) {
        return Status(ErrorCode::invalid_argument,
                      "writer_stride is " + std::to_string(stride) + ": it counts ranks from 1");
    }
    if (stride == 0) {
        const int ranks_per_node = std::max(1, settings.comm.size() / settings.comm.num_nodes());
        stride = std::min(4, ranks_per_node);
    }
    return std::unique_ptr<Method>(new Collector(settings, std::min(stride, settings.comm.size())));
}

}  // namespace hakobi::output
