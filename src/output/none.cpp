#include "output/none.hpp"

namespace hakobi::output {
namespace {

class None final : public Method {
  public:
    mpi::Agreed write(const Step&) override { return {}; }
};

}  // namespace

Result<std::unique_ptr<Method>> make_none(const MethodSettings&) {
    return std::unique_ptr<Method>(new None);
}

}  // namespace hakobi::output
