/** Views as they arrive in a program, and reading a program's words. */
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "names.h"

namespace tl {

/** A typed, strided window on one table slot. The encoder has proved that every element lies inside its buffer. */
struct View {
  DType dtype = DType::f32;
  int32_t slot = 0;
  /** Views of the same storage may be the same memory, even through different slots. */
  int32_t storage = 0;
  int64_t offset = 0;  // bytes
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // elements

  int64_t size() const {
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    return n;
  }
  char* at(void* const* table) const { return static_cast<char*>(table[slot]) + offset; }
  template <class T>
  T* as(void* const* table) const {
    return reinterpret_cast<T*>(at(table));
  }
};

/** Reads words in order; throws instead of running past the end, so that a damaged program is a message, not a crash. */
class Reader {
 public:
  Reader(const int64_t* words, int64_t count) : next_(words), end_(words + count) {}

  int64_t word() {
    if (next_ == end_) throw std::runtime_error("the program ends in the middle of an instruction");
    return *next_++;
  }
  int64_t word(int64_t low, int64_t high, const char* what) {
    const int64_t value = word();
    if (value < low || value > high) throw std::runtime_error(std::string("bad ") + what + ": " + std::to_string(value));
    return value;
  }
  template <class Enum>
  Enum code(const char* what) {
    return static_cast<Enum>(word(0, static_cast<int64_t>(Enum::count) - 1, what));
  }
  std::vector<int64_t> list(int64_t length) {
    if (length < 0 || length > end_ - next_) throw std::runtime_error("the program ends in the middle of a list");
    std::vector<int64_t> values(next_, next_ + length);
    next_ += length;
    return values;
  }
  View view() {
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
  bool done() const { return next_ == end_; }

 private:
  const int64_t* next_;
  const int64_t* end_;
};

}  // namespace tl
