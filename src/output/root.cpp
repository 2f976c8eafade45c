#include "output/collect.hpp"

namespace hakobi::output {

/// Rank 0 writes for everybody: one group.
Result<std::unique_ptr<Method>> make_root(const MethodSettings& settings) {
    return std::unique_ptr<Method>(new Collector(settings, settings.comm.size()));
}

}  // namespace hakobi::output
