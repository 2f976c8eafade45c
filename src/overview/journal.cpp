#include "overview/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/crc.hpp"
#include "overview/container.hpp"

namespace hakobi::overview {

namespace {

template <class Value>
void put(std::string& text, const Value& value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Values>
void put_all(std::string& text, const Values& values) {
    put(text, std::uint64_t{values.size()});
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
}

/// Takes numbers off the front of a record. A missing number is zero, and `is_whole` becomes false.
struct Taker {
    std::string_view rest;
    bool is_whole = true;

    template <class Value>
    Value take() {
        Value value{};
        is_whole = is_whole && rest.size() >= sizeof value;
        if (!is_whole) return value;
        std::memcpy(&value, rest.data(), sizeof value);
        rest.remove_prefix(sizeof value);
        return value;
    }
    template <class Values>
    Values take_all() {
        const auto count = take<std::uint64_t>();
        is_whole = is_whole && count <= rest.size() / sizeof(typename Values::value_type);
        Values values(is_whole ? count : 0, {});
        if (!values.empty()) std::memcpy(values.data(), rest.data(), values.size() * sizeof(values[0]));
        rest.remove_prefix(values.size() * sizeof(values[0]));
        return values;
    }
};

std::string record_of(const std::string& key, const Done& done) {
    std::string text;
    put_all(text, key);
    put(text, done.crc);
    put(text, done.found.num_nan);
    put(text, done.found.sum);
    for (const auto* values : {&done.found.low, &done.found.high, &done.found.sample}) put_all(text, *values);
    return text;
}

std::string whole_file(int fd) {
    std::string text, buffer(1 << 16, '\0');
    for (ssize_t count = 0; (count = ::read(fd, buffer.data(), buffer.size())) > 0;) {
        text.append(buffer, 0, static_cast<std::size_t>(count));
    }
    return text;
}

}  // namespace

Status Journal::open(const std::string& path, const std::string& head) {
    if (path.empty()) return {};
    file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file_.get() < 0) return status_of_errno(errno, "cannot open", path);
    const std::string text = whole_file(file_.get()), line = head + "\n";
    std::size_t end = 0;
    if (text.starts_with(line)) {
        Taker all{std::string_view(text).substr(line.size())};
        for (end = line.size(); !all.rest.empty(); end = text.size() - all.rest.size()) {
            const auto crc = all.take<std::uint32_t>();
            const auto record = all.take_all<std::string>();
            if (!all.is_whole || crc32(bytes_of(record)) != crc) break;
            Taker one{record};
            const auto key = one.take_all<std::string>();
            Done& done = known_[key];
            done.crc = one.take<std::uint32_t>();
            done.found.num_nan = one.take<std::int64_t>();
            done.found.sum = one.take<double>();
            for (auto* values : {&done.found.low, &done.found.high, &done.found.sample}) {
                *values = one.take_all<std::vector<double>>();
            }
        }
    }
    Status status;
    if (end == 0) {
        status = write_all(file_.get(), bytes_of(line), 0);
        end = line.size();
    }
    const auto offset = static_cast<off_t>(end);
    if (status.ok() &&
        (::ftruncate(file_.get(), offset) != 0 || ::lseek(file_.get(), offset, SEEK_SET) < 0)) {
        status = status_of_errno(errno, "cannot write", path);
    }
    return status;
}

const Done* Journal::find(const std::string& key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
}

void Journal::add(const std::string& key, const Done& done) {
    if (file_.get() < 0) return;
    const std::string record = record_of(key, done);
    std::string text;
    put(text, crc32(bytes_of(record)));
    put_all(text, record);
    const std::lock_guard hold(mutex_);
    (void)!::write(file_.get(), text.data(), text.size());  // a piece that it does not tell of is done again
}

}  // namespace hakobi::overview
