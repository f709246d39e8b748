/** Rows of indices turned into offsets, shared by gather and scatter. */
#pragma once
#include <vector>

#include "../core/program.h"

namespace tl {

/** Index rows [rows, k] into dims d1 … dk. */
class Positions {
 public:
  Positions(const View& indices, std::vector<int64_t> dims) : indices_(indices), dims_(std::move(dims)) {
    if (indices.dtype != DType::i32 && indices.dtype != DType::i64) refuse("indices must be int32 or int64");
  }

  int64_t depth() const { return static_cast<int64_t>(dims_.size()); }

  /** What at() gives for rows that point outside. */
  static constexpr int64_t kTooLarge = -1, kNegative = -2;

  /** The flat position that a row names; kNegative if any of its indices is, else kTooLarge, when it lies outside. */
  int64_t at(void* const* table, int64_t row) const {
    int64_t position = 0;
    for (int64_t c = 0; c < depth(); c++) {
      const int64_t value = index(table, row * depth() + c), size = dims_[static_cast<size_t>(c)];
      if (value < 0) return kNegative;
      position = position < 0 || value >= size ? kTooLarge : position * size + value;
    }
    return position;
  }

  /** The failure of a row that lies outside: its first bad index. */
  Failure failure(void* const* table, int64_t row) const {
    for (int64_t c = 0; c < depth(); c++) {
      const int64_t flat = row * depth() + c, value = index(table, flat);
      if (value < 0 || value >= dims_[static_cast<size_t>(c)]) return {FailureCode::index, flat, static_cast<double>(value)};
    }
    return {};
  }

 private:
  int64_t index(void* const* table, int64_t flat) const {
    return indices_.dtype == DType::i32 ? indices_.as<int32_t>(table)[flat] : indices_.as<int64_t>(table)[flat];
  }

  View indices_;
  std::vector<int64_t> dims_;
};

inline int64_t product(const std::vector<int64_t>& dims, size_t from, size_t to) {
  int64_t n = 1;
  for (size_t i = from; i < to; i++) n *= dims[i];
  return n;
}

}  // namespace tl
