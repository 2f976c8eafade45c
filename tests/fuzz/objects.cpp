// A server of objects that answers anything: S3's headers and XML, and the head of a striped file.
// The first byte says which call is made; libcurl's calls answer with the rest.
#include <array>

#include "input.hpp"
#include "storage/objects/answering_curl.hpp"
#include "storage/objects/put_file.hpp"
#include "storage/objects/s3_client.hpp"
#include "storage/objects/stores.hpp"
#include "storage/objects/striped_file.hpp"
#include "storage/objects/xml.hpp"

using namespace hakobi;

namespace {

/// The fuzzer's bytes are answers, one behind the other: a status, headers, a body. Errors that may pass are
/// not among them: their repetition sleeps.
storage::Answer next_answer(fuzz::Input& input, int& num_answers) {
    constexpr std::array statuses = {200, 206, 404, 412, 416, 400, 403, 301};
    // A client that asks for ever is a finding; one that has had its answers is told no.
    constexpr int most_answers = 10'000;
    fuzz::require(++num_answers < most_answers);
    if (input.empty()) return {};
    const auto text_of = [](std::span<const std::byte> bytes) {
        return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    storage::Answer answer{.http_status = statuses[input.take<std::uint8_t>() % statuses.size()]};
    answer.head = text_of(input.take_bytes(input.take<std::uint8_t>()));
    answer.body = text_of(input.take_bytes(input.take<std::uint16_t>()));
    return answer;
}

void list(storage::Objects& objects, const storage::ListMode& mode) {
    const Result<storage::Listing> listing = objects.list(mode);
    if (!listing.ok()) return;
    const auto num = std::ssize(listing.value().objects) + std::ssize(listing.value().prefixes);
    fuzz::require(mode.max_entries == 0 || num <= mode.max_entries);
    for (const storage::ListedObject& object : listing.value().objects)
        fuzz::require(!object.name.empty() && object.name > mode.start_after);
}

void get(const storage::ObjectsPtr& objects) {
    std::vector<std::byte> into(1000);
    for (const std::int64_t offset : {0, 10}) {
        const Result<std::int64_t> got = objects->get("name", offset, into, {});
        if (got.ok()) fuzz::require(got.value() >= 0 && got.value() <= std::ssize(into));
    }
}

void read_whole(const storage::ObjectsPtr& objects) {
    const Result<storage::ObjectFacts> facts = objects->facts("name");
    if (facts.ok()) fuzz::require(facts.value().size_bytes >= 0);
    (void)storage::get_object({objects, "name"});
}

void upload(storage::Objects& objects) {
    const std::vector<std::byte> bytes(100);
    const Result<std::string> begun = objects.begin_upload("name");
    if (!begun.ok()) return;
    const Result<storage::UploadedPart> part = objects.put_part("name", begun.value(), 1, bytes);
    if (part.ok())
        (void)objects.complete_upload("name", begun.value(), {&part.value(), 1}, {.only_if_absent = true});
    (void)objects.parts("name", begun.value());
    const Result<std::vector<storage::OpenUpload>> open = objects.uploads("n");
    if (open.ok()) {
        for (const storage::OpenUpload& each : open.value()) fuzz::require(each.name.starts_with("n"));
    }
    (void)objects.abort_upload("name", begun.value());
}

void put(storage::Objects& objects) {
    const std::vector<std::byte> bytes(100);
    (void)objects.put("name", bytes);
    (void)objects.put("name", bytes, {.only_if_absent = true});
    (void)objects.replace("name", bytes, "version");
    (void)objects.remove("name");
}

void read_texts(fuzz::Input input) {
    const std::string text(input.text());
    (void)storage::time_s_of(text);
    (void)storage::percent_decoded(text);
    fuzz::require(storage::percent_decoded(storage::percent_encoded(text)) == text);
    fuzz::require(storage::xml_text("<a>" + storage::xml_escaped(text) + "</a>", "a") == text);
}

void read_striped(fuzz::Input input) {
    static const storage::ObjectsPtr heads = storage::open_objects("memory:fuzz").value();
    static const storage::StripedPlace place{heads, storage::open_objects("memory:fuzz.data").value(),
                                             "memory"};
    const auto number = input.take<std::int64_t>();
    const auto head = input.bytes();
    (void)heads->put("name", head);
    constexpr std::size_t id_at = 25, id_length = 32;
    const std::string_view text = input.text();
    if (text.size() < id_at + id_length) return;
    const std::string id(text.substr(id_at, id_length));
    if (!place.data->ranged()->set_number(id, number).ok()) return;
    const Result<storage::FilePtr> file = storage::open_striped(place, "name", {});
    if (file.ok()) {
        std::vector<std::byte> into(1000);
        for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{1} << 40, number}) {
            if (offset < 0) continue;
            const Result<std::int64_t> read = file.value()->read_at(into, offset);
            if (read.ok()) fuzz::require(read.value() >= 0 && read.value() <= std::ssize(into));
        }
    }
    (void)place.data->remove(id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    const auto what = input.take<std::uint8_t>();
    if (what % 8 == 6) return read_texts(input), 0;
    if (what % 8 == 7) return read_striped(input), 0;
    int num_answers = 0;
    fuzz::require(storage::AnsweringCurl::begin([&] { return next_answer(input, num_answers); }));
    const storage::ObjectsPtr objects = storage::open_s3_objects("//bucket/run").value();
    switch (what % 8) {
        case 0:
            list(*objects, {.prefix = "a", .delimiter = "/"});
            break;
        case 1:
            list(*objects, {.start_after = "b", .max_entries = 3});
            break;
        case 2:
            get(objects);
            break;
        case 3:
            read_whole(objects);
            break;
        case 4:
            upload(*objects);
            break;
        default:
            put(*objects);
    }
    return 0;
}
