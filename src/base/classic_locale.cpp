#include "base/classic_locale.hpp"

namespace hakobi {

ClassicLocale::ClassicLocale() noexcept : before_(nullptr) {
    static const locale_t classic = ::newlocale(LC_ALL_MASK, "C", nullptr);
    if (classic != nullptr) before_ = ::uselocale(classic);
}

ClassicLocale::~ClassicLocale() {
    if (before_ != nullptr) ::uselocale(before_);
}

}  // namespace hakobi
