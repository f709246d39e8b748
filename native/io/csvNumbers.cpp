/** @file Columns of texts as numbers, as JavaScript's Number reads them. */
#include "../tensorloom.h"
#include "csvColumns.h"

/**
 * Reads texts, which lie one behind the other and end at `ends`, from one on; blank ones are `missing`. Gives how far it came: to the
 * end, or to a text that is left to JavaScript.
 */
TL_API int64_t tl_csv_numbers(int64_t bytes, int64_t ends, int64_t from, int64_t count, double missing, int64_t out) {
  const char* texts = reinterpret_cast<const char*>(bytes);
  const auto* stops = reinterpret_cast<const int32_t*>(ends);
  auto* numbers = reinterpret_cast<double*>(out);
  for (int64_t i = from; i < count; i++) {
    const tl::Text text = tl::withoutBlanks({texts + (i > 0 ? stops[i - 1] : 0), texts + stops[i]});
    if (text.size() == 0) numbers[i] = missing;
    else if (!tl::readDecimal(text, numbers[i])) return i;
  }
  return count;
}
