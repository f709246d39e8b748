/** Rows of indices turned into offsets, shared by gather and scatter. */
#pragma once
#include <atomic>
#include <vector>

#include "../core/pool.h"
#include "../core/program.h"

namespace tl {

/** Index rows [rows, k] into dims d1 … dk. */
class Positions {
 public:
  Positions(const View& indices, std::vector<int64_t> dims) : indices_(indices), dims_(std::move(dims)) {
    if (indices.dtype != DType::i32 && indices.dtype != DType::i64) refuse("indices must be int32 or int64");
  }

  int64_t depth() const { return static_cast<int64_t>(dims_.size()); }

  /** What a reader gives for rows that point outside. */
  static constexpr int64_t kTooLarge = -1, kNegative = -2;

  /**
   * Calls `body` with a function from rows to the flat positions that they name: kNegative if any index of a row is, else kTooLarge,
   * when it lies outside. Index type and, where it is one, depth are known to the compiler there.
   */
  template <class Body>
  auto read(void* const* table, const Body& body) const {
    return indices_.dtype == DType::i32 ? readAs(indices_.as<int32_t>(table), body) : readAs(indices_.as<int64_t>(table), body);
  }

  /** The first of `rows` rows whose position `isBad`, looked for by all threads; `rows` if there is none. */
  template <class IsBad>
  int64_t firstBad(void* const* table, int64_t rows, const IsBad& isBad) const {
    const int64_t parts = Pool::get().parts(static_cast<double>(rows) * static_cast<double>(depth()), kCheckGrain);
    std::atomic<int64_t> first{rows};
    read(table, [&](const auto& at) {
      Pool::get().run(parts, [&](int64_t part) {
        const Range range = rangeOf(part, parts, rows);
        for (int64_t begin = range.begin; begin < range.end; begin += kStretch) {
          const int64_t end = begin + kStretch < range.end ? begin + kStretch : range.end;
          bool bad = false;
          for (int64_t row = begin; row < end; row++) bad |= isBad(at(row));
          if (!bad) continue;
          int64_t row = begin;
          while (!isBad(at(row))) row++;
          int64_t seen = first.load();
          while (row < seen && !first.compare_exchange_weak(seen, row)) {}
          return;
        }
      });
    });
    return first.load();
  }

  /** The failure of a row that lies outside: its first bad index. */
  Failure failure(void* const* table, int64_t row) const {
    for (int64_t c = 0; c < depth(); c++) {
      const int64_t flat = row * depth() + c;
      const int64_t value = indices_.dtype == DType::i32 ? indices_.as<int32_t>(table)[flat] : indices_.as<int64_t>(table)[flat];
      if (value < 0 || value >= dims_[static_cast<size_t>(c)]) return {FailureCode::index, flat, static_cast<double>(value)};
    }
    return {};
  }

 private:
  /** Rows whose check pays for another thread, and rows that are looked at before it is asked whether one was bad. */
  static constexpr double kCheckGrain = 100e3;
  static constexpr int64_t kStretch = 1024;

  template <class T, class Body>
  auto readAs(const T* indices, const Body& body) const {
    if (depth() == 1)
      return body([indices, size = dims_[0]](int64_t row) {
        const int64_t value = indices[row];
        return value < 0 ? kNegative : value >= size ? kTooLarge : value;
      });
    return body([indices, this](int64_t row) {
      int64_t position = 0;
      for (int64_t c = 0; c < depth(); c++) {
        const int64_t value = indices[row * depth() + c], size = dims_[static_cast<size_t>(c)];
        if (value < 0) return kNegative;
        position = position < 0 || value >= size ? kTooLarge : position * size + value;
      }
      return position;
    });
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
