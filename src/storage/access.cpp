#include "storage/access.hpp"

#include <array>
#include <string>
#include <vector>

#include "base/nearest.hpp"
#include "storage/concurrency.hpp"
#include "storage/threads.hpp"
#include "storage/transfer.hpp"
#include "storage/uring.hpp"

namespace hakobi::storage {

namespace {

/// The unpipelined original: a request is done when submit returns.
class PosixAccess final : public Access {
  public:
    explicit PosixAccess(File* file) : file_(file) {}

    void submit(Request& request) override {
        // A request submitted from `done` waits until `done` has returned, so that a chain of them does not
        // nest.
        thread_local std::vector<std::pair<PosixAccess*, Request*>>* waiting = nullptr;
        if (waiting != nullptr) {
            waiting->emplace_back(this, &request);
            return;
        }
        std::vector<std::pair<PosixAccess*, Request*>> chain = {{this, &request}};
        waiting = &chain;
        while (!chain.empty()) {
            const auto [access, next] = chain.back();
            chain.pop_back();
            access->run(*next);
        }
        waiting = nullptr;
    }

    void drain() override {}
    [[nodiscard]] std::string_view name() const noexcept override { return "posix"; }

  private:
    void run(Request& request) {
        ServiceSample sample;
        sample.is_write = request.is_write;
        const ServiceClock clock;
        File& file = file_of(request, file_);
        transfer(file, request, 0);
        account(request, sample);
        clock.stop(sample);
        file.profile().observe(1, sample);
        if (request.done != nullptr) request.done(request);
    }

    File* file_;
};

Result<std::unique_ptr<Access>> make(File* file, const AccessOptions& options) {
    if (options.name == "posix") return std::unique_ptr<Access>(std::make_unique<PosixAccess>(file));
    if (options.name == "threads") return make_threads_access(file, options);
    if (options.name == "uring") return make_uring_access(file, options);
    constexpr std::array<std::string_view, 3> names = {"posix", "threads", "uring"};
    std::string text = "no file access is called '" + std::string(options.name) + "' (posix, threads, uring)";
    if (const std::string nearest = nearest_name(options.name, names); !nearest.empty()) {
        text += "; did you mean '" + nearest + "'?";
    }
    return Status(ErrorCode::invalid_argument, std::move(text));
}

}  // namespace

Result<std::unique_ptr<Access>> make_access(const AccessOptions& options) {
    return make(nullptr, options);
}

Result<std::unique_ptr<Access>> make_access(File& file, const AccessOptions& options) {
    return make(&file, options);
}

}  // namespace hakobi::storage
