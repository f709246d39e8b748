/**
 * The `blocks` instruction: a small program that is run for one block of rows after the other.
 *
 * Its steps are ordinary instructions over as many rows as a block has. They find their memory through a table of their
 * own, whose addresses move on with the rows; what only the steps use lies in memory that belongs to the thread and stays
 * in its cache. Blocks are divided among threads in pieces. How many pieces there are does not depend on the number of
 * threads, and neither do the results of reductions across rows, which are collected per piece.
 */
#include <algorithm>
#include <atomic>

#include "../core/pool.h"
#include "../core/program.h"
#include "../reduce/collector.h"
#include "rowProgram.h"

namespace tl {
namespace {

constexpr int64_t kPieces = 32;
/** Estimated nanoseconds that pay for waking another thread. */
constexpr double kGrain = 4e3;

/** Where a slot of the steps' table points: into memory of the program, moving with the rows, or into the thread's own. */
struct Slot {
  int64_t outer;  // -1: the thread's own
  int64_t offset, rowBytes;
};

/** A reduction across rows: each block leaves `count` results in a slot. */
struct Across {
  Collector collector;
  Kind kind;
  int64_t slot, count;
  View output;
  int64_t wideOffset;  // in the memory of a piece
};

/** What a thread needs to run blocks. Instructions may keep state while they run, so threads do not share them. */
struct Lane {
  std::vector<InstructionPtr> whole, last;
  std::vector<void*> table;
  std::vector<char> memory;
  char* local = nullptr;
  std::atomic<bool> busy{false};
};

/** A lane of a thread's own, until it is done or out of memory. There are as many lanes as threads, so one is always free. */
struct Claim {
  explicit Claim(std::vector<Owned<Lane>>& lanes) : lane(find(lanes)) {}
  ~Claim() { lane.busy.store(false, std::memory_order_release); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  Lane& lane;

 private:
  static Lane& find(std::vector<Owned<Lane>>& lanes) {
    for (;;)
      for (Owned<Lane>& lane : lanes)
        if (!lane->busy.exchange(true, std::memory_order_acquire)) return *lane;
  }
};

/** A step as it arrives: something that may be joined with others, or any instruction. */
struct StepCode {
  explicit StepCode(Reader& in) {
    const InstructionKind kind = in.code<InstructionKind>("instruction kind");
    if (kind == InstructionKind::map)
      row = make<RowStep>(MapCode::decode(in));
    else if (kind == InstructionKind::reduce)
      row = make<RowStep>(ReduceCode::decode(in));
    else
      other = decodeInstruction(in, kind);
  }

  InstructionPtr instruction() { return row ? row->instruction() : std::move(other); }
  bool mayRead(int32_t storage) const {
    if (!row) return true;
    const std::vector<View>& reads = row->expression.inputs;
    return std::any_of(reads.begin(), reads.end(), [&](const View& v) { return v.storage == storage; });
  }

  Owned<RowStep> row;
  InstructionPtr other;
};

/** An Across collects in 16 bytes or less per result. */
constexpr int64_t kWide = 16;

constexpr int64_t roundUp(int64_t n) { return (n + 63) & ~int64_t{63}; }

class Blocks final : public Instruction, public RowWise {
 public:
  explicit Blocks(Reader& in) : packs_(in.packs) {
    rows_ = in.word(1, INT64_MAX, "row count");
    block_ = in.word(1, rows_, "rows of a block");
    work_ = static_cast<double>(in.word());
    const int64_t slots = in.word(0, 1 << 20, "slot count");
    for (int64_t i = 0; i < slots; i++) slots_.push_back({in.word(-1, INT32_MAX, "slot"), in.word(), in.word()});
    localBytes_ = in.word(0, INT64_MAX / 2, "local memory");
    const int64_t across = in.word(0, 1 << 20, "count of reductions across rows");
    for (int64_t i = 0; i < across; i++) {
      const FoldOp op = foldOf(in.code<ReduceOp>("reduction"));
      const int64_t slot = in.word(0, slots - 1, "slot");
      const View output = in.view();
      const Kind kind = kindOf(output.dtype);
      across_.push_back({Collector(op, kind), kind, slot, output.size(), output, wideBytes_});
      wideBytes_ += roundUp(output.size() * kWide);
      widest_ = std::max(widest_, output.size() * kWide);
    }
    whole_ = in.list(in.word());
    last_ = in.list(in.word());
    const int64_t blocks = (rows_ + block_ - 1) / block_;
    pieces_ = std::min(blocks, kPieces);
    wide_.resize(static_cast<size_t>(pieces_ * wideBytes_));
    addLane();  // a program that makes no sense is refused now
    if (block_ * pieces_ == rows_) findTouched();
  }

  Failure run(void* const* table) override {
    const bool together = Pool::get().parts(work_, kGrain) > 1;
    const int64_t parts = together ? pieces_ : 1;
    while (static_cast<int64_t>(lanes_.size()) < std::min<int64_t>(parts, Pool::get().threads())) addLane();
    Pool::get().run(parts, [&](int64_t part) {
      const Claim claim(lanes_);
      const Range pieces = rangeOf(part, parts, pieces_);
      for (int64_t piece = pieces.begin; piece < pieces.end; piece++) runPiece(table, claim.lane, piece);
    });
    finishRows(table);
    return {};
  }

  RowWise* rowWise() override { return touched_.empty() ? nullptr : this; }

  int64_t unitOf(int64_t rows, std::vector<RowBytes>& touched) const override {
    if (rows != rows_) return 0;
    touched = touched_;
    return block_;
  }
  void prepareRows(void* const*) override {
    while (static_cast<int64_t>(lanes_.size()) < Pool::get().threads()) addLane();
  }
  /** Blocks are pieces where rows are told apart. */
  void runRows(void* const* table, Range rows, int64_t) override {
    const Claim claim(lanes_);
    for (int64_t piece = rows.begin / block_; piece < rows.end / block_; piece++) runPiece(table, claim.lane, piece);
  }
  void finishRows(void* const* table) override {
    for (const Across& a : across_) finish(table, a);
  }

 private:
  /** What steps touch outside their own memory; nothing if they are not all maps and reductions, whose rows are the first dim. */
  void findTouched() {
    Reader in(whole_.data(), static_cast<int64_t>(whole_.size()), packs_);
    std::vector<RowBytes> touched;
    while (!in.done()) {
      const StepCode step(in);
      if (!step.row) return;
      for (const auto& [views, isWritten] : {std::pair(&step.row->expression.inputs, false), std::pair(&step.row->outputs, true)})
        for (const View& v : *views) {
          const Slot& slot = slots_[static_cast<size_t>(v.slot)];
          if (slot.outer < 0) continue;
          RowBytes x = RowBytes::of(v, isWritten);
          if (x.step != slot.rowBytes) return;
          x.slot = static_cast<int32_t>(slot.outer);
          x.begin += slot.offset;
          x.end += slot.offset;
          touched.push_back(x);
        }
    }
    for (const Across& a : across_) touched.push_back(RowBytes::late(a.output));
    touched_ = std::move(touched);
  }

  void addLane() {
    auto lane = make<Lane>();
    const auto decode = [this](const std::vector<int64_t>& words) {
      Reader in(words.data(), static_cast<int64_t>(words.size()), packs_);
      std::vector<StepCode> steps;
      while (!in.done()) steps.emplace_back(in);
      return joinRows(std::move(steps));
    };
    lane->whole = decode(whole_);
    lane->last = decode(last_);
    lane->table.resize(slots_.size());
    lane->memory.resize(static_cast<size_t>(roundUp(localBytes_) + widest_ + 64));
    lane->local = reinterpret_cast<char*>(roundUp(reinterpret_cast<int64_t>(lane->memory.data())));
    lanes_.push_back(std::move(lane));
  }

  /** Steps as instructions; neighbours over the same rows as one where a loop can be generated for them. */
  std::vector<InstructionPtr> joinRows(std::vector<StepCode> steps) const {
    std::vector<InstructionPtr> result;
    for (size_t first = 0; first < steps.size();) {
      const size_t count = joinFrom(steps, first, result);
      if (count == 0) result.push_back(steps[first].instruction());
      first += std::max<size_t>(count, 1);
    }
    return result;
  }
  /** Joins as many steps as possible; gives their number. */
  size_t joinFrom(const std::vector<StepCode>& steps, size_t first, std::vector<InstructionPtr>& result) const {
    int64_t rows = 0, columns = 0;
    for (size_t i = first; i < steps.size() && steps[i].row && columns == 0; i++)
      if (!RowProgram::shapeOf(*steps[i].row, rows, columns)) rows = columns = 0;
    if (columns == 0) return 0;
    RowProgram program(rows, columns);
    size_t end = first;
    while (end < steps.size() && steps[end].row && program.add(*steps[end].row)) end++;
    if (end == first) return 0;
    // Memory of the thread's own is read by other steps, and by what collects results across rows.
    InstructionPtr joined = program.finish([&](int32_t slot, int32_t storage) {
      return slots_[static_cast<size_t>(slot)].outer >= 0 || isCollected(slot) ||
             std::any_of(steps.begin() + static_cast<int64_t>(end), steps.end(), [&](const StepCode& s) { return s.mayRead(storage); });
    });
    if (!joined) return 0;
    result.push_back(std::move(joined));
    return end - first;
  }

  bool isCollected(int32_t slot) const {
    return std::any_of(across_.begin(), across_.end(), [&](const Across& a) { return a.slot == slot; });
  }

  void runPiece(void* const* table, Lane& lane, int64_t piece) {
    const Range blocks = rangeOf(piece, pieces_, (rows_ + block_ - 1) / block_);
    for (int64_t block = blocks.begin; block < blocks.end; block++) {
      const int64_t row = block * block_;
      for (size_t i = 0; i < slots_.size(); i++) {
        const Slot& slot = slots_[i];
        char* base = slot.outer < 0 ? lane.local : static_cast<char*>(table[slot.outer]);
        lane.table[i] = base + slot.offset + row * slot.rowBytes;
      }
      for (InstructionPtr& step : rows_ - row < block_ ? lane.last : lane.whole) step->run(lane.table.data());
      for (const Across& a : across_)
        a.collector.take(a.count, block == blocks.begin, lane.table[static_cast<size_t>(a.slot)],
                         wide_.data() + piece * wideBytes_ + a.wideOffset, lane.local + roundUp(localBytes_));
    }
  }

  /** Joins what the pieces have collected, and stores it. */
  void finish(void* const* table, const Across& a) {
    char* total = wide_.data() + a.wideOffset;
    for (int64_t piece = 1; piece < pieces_; piece++)
      a.collector.joinWide(a.count, total, total + piece * wideBytes_);
    char* results = lanes_[0]->local + roundUp(localBytes_);
    a.collector.give(a.count, total, results);
    if (rows_ > 1) a.collector.settle(a.count, results);
    simd().store[static_cast<int>(a.output.dtype)](a.count, a.output.at(table), 1, results, 1);
  }

  int64_t rows_, block_, localBytes_, pieces_;
  int64_t wideBytes_ = 0, widest_ = 0;
  double work_;
  std::vector<Slot> slots_;
  std::vector<Across> across_;
  std::vector<int64_t> whole_, last_;  // the steps' words, for the next lane
  std::vector<Owned<Lane>> lanes_;
  Packs& packs_;
  std::vector<char> wide_;
  std::vector<RowBytes> touched_;
};

}  // namespace

InstructionPtr decodeBlocks(Reader& in) { return make<Blocks>(in); }

}  // namespace tl
