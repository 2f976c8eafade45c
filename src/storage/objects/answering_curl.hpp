#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/objects/curl.hpp"

namespace hakobi::storage {

/// For tests: a server's answer, whatever was asked.
struct Answer {
    int http_status = 404;
    std::string head = {};  ///< lines, without the first
    std::string body = {};
};

/// For tests: has this process's libcurl answer from here. One thread at a time.
class AnsweringCurl {
  public:
    /// From now on; false where there is no libcurl.
    static bool begin(std::function<Answer()> next) {
        static const bool is_replaced = replace();
        source() = std::move(next);
        return is_replaced;
    }

  private:
    using Take = std::size_t (*)(char*, std::size_t, std::size_t, void*);
    /// A connection, with the options that an answer needs.
    struct Easy {
        Take write = nullptr, header = nullptr;
        void *write_data = nullptr, *header_data = nullptr;
        bool has_body = true;
    };

    static std::function<Answer()>& source() {
        static std::function<Answer()> next;
        return next;
    }
    static int set(void* easy, int option, ...) {
        auto& self = *static_cast<Easy*>(easy);
        std::va_list list;
        va_start(list, option);
        if (option == Curl::write_function) self.write = va_arg(list, Take);
        if (option == Curl::header_function) self.header = va_arg(list, Take);
        if (option == Curl::write_data) self.write_data = va_arg(list, void*);
        if (option == Curl::header_data) self.header_data = va_arg(list, void*);
        if (option == Curl::no_body) self.has_body = va_arg(list, long) == 0;
        va_end(list);
        return Curl::ok;
    }
    /// As curl does, from a buffer that no zero ends.
    static bool give(Take take, std::string_view text, void* self) {
        std::vector<char> buffer(text.begin(), text.end());
        return buffer.empty() || take(buffer.data(), 1, buffer.size(), self) == buffer.size();
    }
    static int perform(void* easy) {
        const auto& self = *static_cast<Easy*>(easy);
        const Answer answer = source()();
        (void)give(self.header, "HTTP/1.1 " + std::to_string(answer.http_status) + " said\r\n",
                   self.header_data);
        for (std::string_view rest = answer.head; !rest.empty();) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
            (void)give(self.header, line, self.header_data);
        }
        const bool is_taken = !self.has_body || give(self.write, answer.body, self.write_data);
        return is_taken ? Curl::ok : Curl::write_error;
    }
    static bool replace() {
        ::setenv("AWS_ACCESS_KEY_ID", "key", 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
        ::setenv("AWS_ENDPOINT_URL", "http://localhost:1", 1);
        ::setenv("HAKOBI_OBJECT_PATIENCE_S", "0", 1);
        const Result<const Curl*> loaded = Curl::get();
        if (!loaded.ok()) return false;
        auto& curl = *const_cast<Curl*>(loaded.value());
        curl.init = []() -> void* { return new Easy; };
        curl.cleanup = [](void* easy) { delete static_cast<Easy*>(easy); };
        curl.reset = [](void* easy) { *static_cast<Easy*>(easy) = {}; };
        curl.set = set;
        curl.perform = perform;
        curl.append = [](Curl::List* list, const char* /*text*/) { return list; };
        curl.free_list = [](Curl::List* /*list*/) {};
        return true;
    }
};

}  // namespace hakobi::storage
