/** Reading a program's words. */
#include "view.h"

#include <cstdio>

namespace tl {

void refuse(const char* why) {
  BadProgram bad;
  std::snprintf(bad.message, sizeof(bad.message), "%s", why);
  throw bad;
}

void refuse(const char* what, int64_t value) {
  BadProgram bad;
  std::snprintf(bad.message, sizeof(bad.message), "bad %s: %lld", what, static_cast<long long>(value));
  throw bad;
}

int64_t Reader::word() {
  if (next_ == end_) refuse("the program ends in the middle of an instruction");
  return *next_++;
}

int64_t Reader::word(int64_t low, int64_t high, const char* what) {
  const int64_t value = word();
  if (value < low || value > high) refuse(what, value);
  return value;
}

std::vector<int64_t> Reader::list(int64_t length) {
  if (length < 0 || length > end_ - next_) refuse("the program ends in the middle of a list");
  std::vector<int64_t> values(next_, next_ + length);
  next_ += length;
  return values;
}

View Reader::view() {
  View v;
  v.dtype = code<DType>("dtype");
  v.slot = static_cast<int32_t>(word(0, INT32_MAX, "table slot"));
  v.storage = static_cast<int32_t>(word(0, INT32_MAX, "storage"));
  v.offset = word();
  const int64_t rank = word(0, 1024, "rank");
  v.dims = list(rank);
  v.strides = list(rank);
  return v;
}

}  // namespace tl
