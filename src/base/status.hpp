#pragma once

#include <cassert>
#include <cerrno>
#include <hakobi/error.hpp>
#include <optional>
#include <string>
#include <utility>

namespace hakobi {

/// The value form of an error inside the library: collectives carry it to their end, agree on the worst, and
/// only then throw. Default constructed it means success; assigning keeps no history, `keep_first` does.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(ErrorCode code, std::string text) : code_(code), text_(std::move(text)) {}

    [[nodiscard]] bool ok() const noexcept { return code_ == ErrorCode::ok; }
    [[nodiscard]] ErrorCode code() const noexcept { return code_; }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

    /// Takes `other` unless this is already an error: of several failures in a row the first is the cause.
    void keep_first(Status other) {
        if (ok()) *this = std::move(other);
    }
    /// For local calls: throws Error where this is one.
    void throw_if_error() const {
        if (!ok()) throw Error(code_, text_);
    }

  private:
    ErrorCode code_ = ErrorCode::ok;
    std::string text_;
};

/// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
    Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
        assert(!status_.ok());
    }

    [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
    [[nodiscard]] const Status& status() const noexcept { return status_; }
    [[nodiscard]] T& value() & {
        assert(ok());
        return *value_;
    }
    [[nodiscard]] const T& value() const& {
        assert(ok());
        return *value_;
    }
    [[nodiscard]] T&& value() && {
        assert(ok());
        return *std::move(value_);
    }

  private:
    std::optional<T> value_;
    Status status_;
};

/// The code that an errno of a file call maps to: ENOSPC and EDQUOT are no_space, EACCES and EROFS
/// permission, … EINVAL and EBADF are io: what the system refuses are our arguments, not the caller's, which
/// are checked before.
[[nodiscard]] ErrorCode code_of_errno(int error);

/// "<what> <path>: <the system's text>", with the code of `error`.
Status status_of_errno(int error, std::string_view what, std::string_view path);

}  // namespace hakobi
