// The functions that eccodes.hpp declares have the types of ecCodes' own header.

#include <eccodes.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "format/grib/eccodes.hpp"

namespace hakobi::format::grib {
namespace {

#define SAME(member, function) static_assert(std::is_same_v<decltype(Eccodes::member), decltype(&(function))>)
SAME(new_from_message, codes_handle_new_from_message);
SAME(new_from_message_copy, codes_handle_new_from_message_copy);
SAME(new_from_samples, codes_grib_handle_new_from_samples);
SAME(delete_handle, codes_handle_delete);
SAME(get_message, codes_get_message);
SAME(get_string, codes_get_string);
SAME(get_long, codes_get_long);
SAME(get_size, codes_get_size);
SAME(get_long_array, codes_get_long_array);
SAME(get_double_array, codes_get_double_array);
SAME(set_long, codes_set_long);
SAME(set_double, codes_set_double);
SAME(set_string, codes_set_string);
SAME(set_long_array, codes_set_long_array);
SAME(set_double_array, codes_set_double_array);
SAME(error_message, codes_get_error_message);
SAME(new_iterator, codes_keys_iterator_new);
SAME(next, codes_keys_iterator_next);
SAME(name, codes_keys_iterator_get_name);
SAME(delete_iterator, codes_keys_iterator_delete);
SAME(api_version, codes_get_api_version);

TEST(Eccodes, IsLoadedWithEveryFunction) {
    const Result<Eccodes*> library = Eccodes::get();
    ASSERT_TRUE(library.ok()) << library.status().text();
    EXPECT_EQ(library.value()->api_version() / 10000, ECCODES_MAJOR_VERSION);
}

}  // namespace
}  // namespace hakobi::format::grib
