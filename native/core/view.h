/** Views as they arrive in a program, and reading a program's words. */
#pragma once
#include <cstdint>
#include <vector>

#include "names.h"

namespace tl {

/** What is wrong with a program that cannot be decoded. The standard exceptions would cost every file their headers. */
struct BadProgram {
  char message[160];
};
[[noreturn]] void refuse(const char* why);
[[noreturn]] void refuse(const char* what, int64_t value);

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

class Packs;

/** Reads words in order; throws instead of running past the end, so that a damaged program is a message, not a crash. */
class Reader {
 public:
  Reader(const int64_t* words, int64_t count, Packs& packs) : packs(packs), next_(words), end_(words + count) {}

  /** Those of the program. */
  Packs& packs;

  int64_t word();
  int64_t word(int64_t low, int64_t high, const char* what);
  template <class Enum>
  Enum code(const char* what) {
    return static_cast<Enum>(word(0, static_cast<int64_t>(Enum::count) - 1, what));
  }
  std::vector<int64_t> list(int64_t length);
  View view();
  bool done() const { return next_ == end_; }

 private:
  const int64_t* next_;
  const int64_t* end_;
};

}  // namespace tl
