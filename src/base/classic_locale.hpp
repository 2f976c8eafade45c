#pragma once

#include <clocale>

namespace hakobi {

/// While it exists, C's functions (printf, strtod, strptime) work on this thread as in the locale "C",
/// whatever the program has set: numbers have a decimal point and months are English. Streams of C++ have
/// their own locale. Local; threads do not see each other's.
class ClassicLocale {
  public:
    ClassicLocale() noexcept;
    ~ClassicLocale();
    ClassicLocale(const ClassicLocale&) = delete;
    ClassicLocale& operator=(const ClassicLocale&) = delete;

  private:
    locale_t before_;
};

}  // namespace hakobi
