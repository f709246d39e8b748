/**
 * The `topk` instruction: the largest values of each row, and where they were.
 *
 * Every value becomes an unsigned key that sorts like it, and key and position together one number: larger values come
 * first, and among equals the earlier. Numbers need no comparison function, and those of one row no second look.
 */
#include <algorithm>
#include <cstring>
#include <new>

#include "../core/pool.h"
#include "../core/program.h"
#include "../simd/kernels.h"

namespace tl {
namespace {

using Wide = unsigned __int128;

/** Rows from this length are sorted digit by digit when all of them is wanted. */
constexpr int64_t kLongRow = 256;

/** The k largest of at least so many times k are found in one look at the row. */
constexpr int64_t kFew = 8;

/** Items that the search for few has room for besides those of the row. */
constexpr int64_t kRoom = 128;

/** Scratch memory of more bytes than this is not kept for the next row that is as long: getting it takes little beside the sorting. */
constexpr int64_t kMostKept = 64 << 20;

/** Keys of 32 bits with their position, from which the smallest are wanted. */
uint64_t pair(uint32_t key, int64_t position) { return static_cast<uint64_t>(~key) << 32 | static_cast<uint64_t>(position); }
Wide pair(uint64_t key, int64_t position) { return static_cast<Wide>(~key) << 64 | static_cast<Wide>(position); }

/** How numbers become keys: the larger the number, the larger its key. */
enum class Order { asFloats, asSigned, asTheyAre };

/** Floats sort like their bits once those of negative ones are turned over; NaN counts as larger than any number. */
template <Order order, class Bits>
Bits keyOf(Bits bits) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  if constexpr (order == Order::asSigned) return bits ^ sign;
  if constexpr (order == Order::asTheyAre) return bits;
  constexpr Bits infinity = sizeof(Bits) == 4 ? static_cast<Bits>(0x7f800000) : static_cast<Bits>(0x7ff0000000000000);
  const Bits magnitude = bits & ~sign;
  const Bits key = bits & sign ? ~bits : bits | sign;
  constexpr Bits leastNormal = sizeof(Bits) == 4 ? static_cast<Bits>(0x00800000) : static_cast<Bits>(0x0010000000000000);
  // Zeros of both signs are equal, and so is what counts as zero.
  return magnitude > infinity ? ~Bits{0} : magnitude < leastNormal ? sign : key;
}

/** Sorts by the upper 32 bits, eight at a time; equal keys keep their order. */
void radixSort(uint64_t* items, uint64_t* other, int64_t n) {
  for (int shift = 32; shift < 64; shift += 8) {
    int64_t starts[257] = {};
    for (int64_t i = 0; i < n; i++) starts[(items[i] >> shift & 255) + 1]++;
    for (int digit = 0; digit < 256; digit++) starts[digit + 1] += starts[digit];
    for (int64_t i = 0; i < n; i++) other[starts[items[i] >> shift & 255]++] = items[i];
    std::swap(items, other);
  }
}

/** Brings the k smallest of n items to the front, in order. */
template <class Item>
void select(Item* items, int64_t n, int64_t k) {
  // Selecting first is linear in the row; only the winners are then sorted.
  if (k < n) std::nth_element(items, items + k, items + n);
  std::sort(items, items + k);
}

/** The same for items in the order of their positions. */
template <class Item>
void pick(Item* items, Item* spare, int64_t n, int64_t k) {
  if constexpr (sizeof(Item) == 8)
    if (k == n && n >= kLongRow) return radixSort(items, spare, n);
  select(items, n, k);
}

/**
 * Brings the k first of n items, few of many, to the front of `items`, in order. Most keys are no larger than the k-th of those seen
 * before; the others are collected, and now and then all but the k first of them are dropped.
 */
template <class Item, class Key>
void pickFew(Item* items, int64_t n, int64_t k, const Key& key) {
  // Keys are looked at in stretches of a fixed length, which become vector code.
  constexpr int64_t kStretch = 64;
  const int64_t room = std::max<int64_t>(2 * k, kStretch) + kStretch;
  // The k-th key, once there are enough to know one.
  auto least = key(0);
  bool isKnown = false;
  int64_t held = 0;
  const auto collect = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      if (!isKnown || key(i) > least) items[held++] = pair(key(i), i);
    if (held + kStretch <= room) return;
    std::nth_element(items, items + k - 1, items + held);
    least = key(static_cast<int64_t>(static_cast<uint32_t>(items[k - 1])));
    isKnown = true;
    held = k;
  };
  int64_t i = 0;
  for (; i + kStretch <= n; i += kStretch) {
    int larger = !isKnown;
    for (int64_t j = 0; j < kStretch; j++) larger |= key(i + j) > least;
    if (larger) collect(i, i + kStretch);
  }
  collect(i, n);
  select(items, held, k);
}

/** Memory for the items of a row: the thread's own, or of a long row as long as this lives. */
class Room {
 public:
  explicit Room(int64_t bytes) : isKept_(bytes <= kMostKept), at_(isKept_ ? Pool::scratch(bytes) : ::operator new(static_cast<size_t>(bytes))) {}
  ~Room() {
    if (!isKept_) ::operator delete(at_);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  template <class Item> Item* items() const { return static_cast<Item*>(at_); }

 private:
  bool isKept_;
  void* at_;
};

class TopK final : public Instruction {
 public:
  TopK(const View& input, const View& values, const View& indices) : input_(input), values_(values), indices_(indices) {
    if (input.dims.size() != 2 || values.dims.size() != 2 || values.dims != indices.dims || values.dims[0] != input.dims[0] ||
        values.dims[1] > input.dims[1] || values.dtype != input.dtype || indices.dtype != DType::i32)
      refuse("bad topk");
    const Kind kind = kindOf(input.dtype);
    if (kind == Kind::c64 || kind == Kind::c128) refuse("complex numbers have no order");
  }

  Failure run(void* const* table) override {
    const int64_t rows = input_.dims[0], n = input_.dims[1];
    if (rows * values_.dims[1] == 0) return {};
    const int64_t parts = std::min(rows, Pool::get().parts(static_cast<double>(rows * n) * 8, 100e3));
    Pool::get().run(parts, [&](int64_t part) {
      const Range range = rangeOf(part, parts, rows);
      if (sizeOf(kindOf(input_.dtype)) == 8)
        pickRows<uint64_t, Wide>(table, range, n);
      else
        pickRows<uint32_t, uint64_t>(table, range, n);
    });
    return {};
  }

 private:
  template <class Key, class Item>
  void pickRows(void* const* table, Range rows, int64_t n) const {
    const Room room((2 * n + kRoom) * static_cast<int64_t>(sizeof(Item)));
    for (int64_t row = rows.begin; row < rows.end; row++) pickRow<Key>(table, row, n, room.items<Item>());
  }
  template <class Key, class Item>
  void pickRow(void* const* table, int64_t row, int64_t n, Item* items) const {
    switch (kindOf(input_.dtype)) {
      case Kind::f32: case Kind::f64: return pickRowBy<Order::asFloats, Key>(table, row, n, items);
      case Kind::i32: case Kind::i64: return pickRowBy<Order::asSigned, Key>(table, row, n, items);
      default: return pickRowBy<Order::asTheyAre, Key>(table, row, n, items);
    }
  }
  template <Order order, class Key, class Item>
  void pickRowBy(void* const* table, int64_t row, int64_t n, Item* items) const {
    const int64_t k = values_.dims[1], size = sizeOf(input_.dtype);
    const char* from = input_.at(table) + row * n * size;
    // The keys lie where they will not be overwritten before they are read: at the far end of the spare half.
    Key* keys = reinterpret_cast<Key*>(items + 2 * n + kRoom) - n;
    if (input_.dtype == DType::bool_) std::copy_n(reinterpret_cast<const uint8_t*>(from), n, keys);
    else simd().load[static_cast<int>(input_.dtype)](n, keys, 1, from, 1);
    const auto key = [keys](int64_t i) { return keyOf<order>(keys[i]); };
    if (k * kFew <= n) {
      pickFew(items, n, k, key);
    } else {
      for (int64_t i = 0; i < n; i++) items[i] = pair(key(i), i);
      pick(items, items + n, n, k);
    }
    for (int64_t i = 0; i < k; i++) {
      const int32_t position = static_cast<int32_t>(items[i]);
      indices_.as<int32_t>(table)[row * k + i] = position;
      std::memcpy(values_.at(table) + (row * k + i) * size, from + position * size, static_cast<size_t>(size));
    }
  }

  View input_, values_, indices_;
};

}  // namespace

InstructionPtr decodeTopK(Reader& in) {
  const View input = in.view();
  const View values = in.view();
  return make<TopK>(input, values, in.view());
}

}  // namespace tl
