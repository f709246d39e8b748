/** Writing lines of vector code down. A value keeps its register until nothing reads it, or until others need the register sooner. */
#include "writer.h"

#include <algorithm>
#include <array>

namespace tl::code {
namespace {

/** Registers: running results are in the last vectors; one mask is for folding, one for tails, and mask 0 means none. */
constexpr int kVectors = 32, kFirstFold = kVectors - kMostRunning;
constexpr int kMasks = 8, kFoldMask = 2, kFirstMask = 3;

constexpr Opcode kLoad = {0, 1, 0x10}, kStore = {0, 1, 0x11}, kRepeat = {1, 2, 0x18}, kMove = {0, 1, 0x28};
constexpr Opcode kCompare = {0, 1, 0xc2}, kCompareIntegers = {1, 3, 0x1f}, kChoose = {1, 2, 0x65}, kShift = {1, 1, 0x72};
constexpr Opcode kLoadBytes = {3, 1, 0x6f}, kStoreBytes = {3, 1, 0x7f}, kTestBytes = {1, 2, 0x26}, kMaskToBytes = {2, 2, 0x28};
constexpr Opcode kMagnitudeOfBytes = {1, 2, 0x1c}, kSwapQuarters = {1, 3, 0x23}, kSwapWithin = {1, 3, 0x04};
constexpr Opcode kStoreOne = {2, 1, 0x11};
/** x y + z and z - x y, in place of x and in place of z. */
constexpr Opcode kMultiplyAdd[] = {{1, 2, 0xa8}, {1, 2, 0xb8}}, kSubtractProduct[] = {{1, 2, 0xac}, {1, 2, 0xbc}};
constexpr uint8_t kMaskAnd = 0x41, kMaskNot = 0x44, kMaskOr = 0x45, kMaskXor = 0x47;
/** The comparison that holds of numbers, not of NaN. */
constexpr int kOrdered = 7;
/** Vectors of 128 and of 512 bits. */
constexpr uint8_t kShort = 0, kLong = 2;
/** In the encoding of a shift, which shift it is. */
constexpr int kShiftLeft = 6;

Opcode opcodeOf(Do what) {
  switch (what) {
    case Do::add: return {0, 1, 0x58};
    case Do::sub: return {0, 1, 0x5c};
    case Do::mul: return {0, 1, 0x59};
    case Do::div: return {0, 1, 0x5e};
    case Do::min: return {0, 1, 0x5d};
    case Do::max: return {0, 1, 0x5f};
    case Do::sqrt: return {0, 1, 0x51};
    case Do::and_: return {0, 1, 0x54};
    case Do::or_: return {0, 1, 0x56};
    case Do::xor_: return {0, 1, 0x57};
    case Do::scale: return {1, 2, 0x2c};
    case Do::inverse14: return {1, 2, 0x4c};
    case Do::round: return {1, 3, 0x08};
    default: return {0, 1, 0x5b};  // fromInteger
  }
}
Opcode opcodeOf(FoldOp folding) {
  constexpr Do joins[] = {Do::add, Do::mul, Do::max, Do::min};
  return opcodeOf(joins[static_cast<int>(folding)]);
}

bool commutes(Do what) {
  return what == Do::add || what == Do::mul || what == Do::and_ || what == Do::or_ || what == Do::xor_;
}

/** into = F(into, from) of running results. */
void foldInto(Assembler& to, FoldOp folding, int into, int from, bool tail) {
  Written lanes = {tail ? kTailMask : 0};
  if (folding == FoldOp::max || folding == FoldOp::min) {
    // A running result that is NaN stays.
    to.vector(kCompare, kFoldMask, into, Place::of(into), lanes, kOrdered);
    lanes.mask = kFoldMask;
  }
  to.vector(opcodeOf(folding), into, into, Place::of(from), lanes);
}

/** Where in the frame a value is. */
Place frameAt(const Surroundings& around, int32_t slot) { return Place::at(rsp, around.frameStart + kVectorBytes * slot); }

/** The vector with a fold's running result for one of the vectors side by side: the first ones of all folds come first. */
int runningOf(int fold, int which, int folds) { return kFirstFold + which * folds + fold; }

/** A value while lines are written. */
struct Local {
  bool isMask = false;
  int32_t constant = -1, frame = -1;
  /** Whether it is in the frame only because others needed its register. */
  bool isSpilled = false;
  int reg = -1;
  /** The lines that read it, and how many of them have been written. */
  std::vector<int32_t> uses;
  size_t used = 0;

  bool isDone() const { return used == uses.size(); }
  int32_t nextUse() const { return isDone() ? INT32_MAX : uses[used]; }
  bool hasHome() const { return constant >= 0 || frame >= 0; }
};

/** One pass over some lines. */
class Pass {
 public:
  enum class For { row, vectors, tail };

  Pass(Assembler& to, const Lines& lines, const Surroundings& around, const Phase& phase, For what)
      : to_(to), lines_(lines), around_(around), phase_(phase), tail_(what == For::tail), length_(what == For::row ? kShort : kLong) {
    vectors_.fill(kNone);
    masks_.fill(kNone);
  }

  bool write(const std::vector<Line>& lines, int beside) {
    for (const Line& line : expand(lines, beside)) {
      if (!writeLine(line)) return false;
      spareSlots_.insert(spareSlots_.end(), readSlots_.begin(), readSlots_.end());
      readSlots_.clear();
    }
    return true;
  }

  /** Slots of the frame, behind those of values that were put away, that it has used. */
  int32_t spillSlots() const { return spillSlots_; }

 private:
  /** Lines for several vectors, which have values of their own for what the lines compute. */
  std::vector<Line> expand(const std::vector<Line>& lines, int beside) {
    const size_t count = lines_.values.size();
    std::vector<bool> isOwn(count, false);
    for (const Line& line : lines)
      if (line.result >= 0) isOwn[static_cast<size_t>(line.result)] = true;
    locals_.resize(count * static_cast<size_t>(beside));
    for (size_t i = 0; i < locals_.size(); i++) {
      const Lines::Kept& kept = lines_.values[i % count];
      locals_[i].isMask = kept.isMask;
      locals_[i].constant = kept.constant;
      // What these lines compute is in the frame only once they have put it there.
      if (!isOwn[i % count]) locals_[i].frame = kept.frame;
    }
    std::vector<Line> all;
    for (const Line& line : lines)
      for (int b = 0; b < beside; b++) {
        const auto own = [&](Value v) {
          return v < 0 || !isOwn[static_cast<size_t>(v)] ? v : v + b * static_cast<int32_t>(count);
        };
        const Line copy = {line.what, own(line.result), own(line.x), own(line.y), own(line.z), line.number, b};
        for (const Value v : {copy.x, copy.y, copy.z})
          if (v >= 0) at(v).uses.push_back(static_cast<int32_t>(all.size()));
        all.push_back(copy);
      }
    return all;
  }

  Local& at(Value v) { return locals_[static_cast<size_t>(v)]; }

  /** Where a value is in memory; one constant stands for a vector of them. */
  Place home(const Local& local) const {
    return local.constant >= 0 ? Place::inCode(4 * local.constant).all() : frameAt(around_, local.frame);
  }

  /** A register that the line being written does not need; the value that is read last makes room. */
  int freeVector() {
    int best = -1;
    for (int r = 0; r < kFirstFold; r++) {
      const Value holds = vectors_[static_cast<size_t>(r)];
      if (pinned_ >> r & 1) continue;
      if (holds < 0) return r;
      if (best < 0 || at(holds).nextUse() > at(vectors_[static_cast<size_t>(best)]).nextUse()) best = r;
    }
    Local& local = at(vectors_[static_cast<size_t>(best)]);
    if (!local.hasHome()) {
      local.frame = spillSlot();
      local.isSpilled = true;
      to_.vector(kStore, best, 0, home(local), whole());
    }
    local.reg = -1;
    return best;
  }
  int32_t spillSlot() {
    if (spareSlots_.empty()) return lines_.frameSlots + spillSlots_++;
    const int32_t slot = spareSlots_.back();
    spareSlots_.pop_back();
    return slot;
  }
  int define(Value v) {
    const int reg = freeVector();
    vectors_[static_cast<size_t>(reg)] = v;
    return at(v).reg = reg;
  }
  /** A mask's register, or -1 if all are taken. */
  int defineMask(Value v) {
    for (int r = kFirstMask; r < kMasks; r++)
      if (masks_[static_cast<size_t>(r)] < 0) {
        masks_[static_cast<size_t>(r)] = v;
        return at(v).reg = r;
      }
    return -1;
  }

  int pin(int reg) {
    pinned_ |= 1u << reg;
    return reg;
  }
  int inRegister(Value v) {
    if (at(v).reg < 0) {
      const Local& local = at(v);
      Place from = home(local);
      const Opcode load = from.repeated ? kRepeat : kLoad;
      from.repeated = false;
      to_.vector(load, define(v), 0, from, whole());
    }
    return pin(at(v).reg);
  }
  Place anywhere(Value v) { return at(v).reg < 0 ? home(at(v)) : Place::of(pin(at(v).reg)); }

  /** Notes that a line has read its values; registers of those that nothing reads any more are free, for its result too. */
  void release(const Line& line) {
    for (const Value v : {line.x, line.y, line.z}) {
      if (v < 0) continue;
      Local& local = at(v);
      local.used++;
      if (!local.isDone()) continue;
      if (local.reg >= 0) (local.isMask ? masks_[static_cast<size_t>(local.reg)] : vectors_[static_cast<size_t>(local.reg)]) = kNone;
      if (local.isSpilled) readSlots_.push_back(local.frame);
    }
    pinned_ = 0;
  }
  /** Whether a value is in a register that nothing reads after this line. */
  bool endsIn(Value v, const Line& line) {
    const Local& local = at(v);
    const size_t reads = static_cast<size_t>(line.x == v) + static_cast<size_t>(line.y == v) + static_cast<size_t>(line.z == v);
    return local.reg >= 0 && local.used + reads == local.uses.size();
  }

  Place element(int operand, int beside) {
    const Surroundings::Operand& o = around_.operands[static_cast<size_t>(operand)];
    if (o.base < 0) to_.move(around_.spare, o.address);
    const int32_t offset = o.offset + (beside * kVectorElements << o.scale);
    return Place::at(o.base < 0 ? around_.spare : o.base, offset, around_.index, o.scale);
  }
  Written whole() const { return {0, false, length_}; }
  Written some(uint8_t length = kLong) const { return {tail_ ? kTailMask : 0, false, length}; }
  Written someOrZero(uint8_t length = kLong) const { return {tail_ ? kTailMask : 0, tail_, length}; }

  bool writeLine(const Line& line) {
    switch (line.what) {
      case Do::load: {
        const Place from = element(line.number, line.beside);
        to_.vector(kLoad, define(line.result), 0, from, someOrZero());
        return true;
      }
      case Do::loadOne: {
        Place from = element(line.number, 0);
        from.index = -1;
        to_.vector(kRepeat, define(line.result), 0, from, whole());
        return true;
      }
      case Do::loadTruth: {
        const int mask = defineMask(line.result);
        if (mask < 0) return false;
        const int bytes = freeVector();
        vectors_[static_cast<size_t>(bytes)] = kNone;
        to_.vector(kLoadBytes, bytes, 0, element(line.number, line.beside), someOrZero(kShort));
        to_.vector(kTestBytes, mask, bytes, Place::of(bytes), {0, false, kShort});
        return true;
      }
      case Do::store:
        to_.vector(kStore, inRegister(line.x), 0, element(line.number, line.beside), some());
        release(line);
        return true;
      case Do::storeOne: {
        const int value = inRegister(line.x);
        Place place = element(line.number, 0);
        place.index = -1;
        to_.vector(kStoreOne, value, 0, place, {0, false, kShort});
        release(line);
        return true;
      }
      case Do::storeTruth: {
        const int bytes = freeVector();
        vectors_[static_cast<size_t>(bytes)] = kNone;
        to_.vector(kMaskToBytes, bytes, 0, Place::of(at(line.x).reg), {0, false, kShort});
        to_.vector(kMagnitudeOfBytes, bytes, 0, Place::of(bytes), {0, false, kShort});
        to_.vector(kStoreBytes, bytes, 0, element(line.number, line.beside), some(kShort));
        release(line);
        return true;
      }
      case Do::putAway: {
        const int reg = inRegister(line.x);
        at(line.x).frame = lines_.values[static_cast<size_t>(line.x)].frame;
        at(line.x).isSpilled = false;
        to_.vector(kRepeat, reg, 0, Place::of(reg));
        to_.vector(kStore, reg, 0, home(at(line.x)));
        release(line);
        return true;
      }
      case Do::multiplyAdd: writeProduct(line, kMultiplyAdd); return true;
      case Do::subtractProduct: writeProduct(line, kSubtractProduct); return true;
      case Do::shiftLeft: {
        const Place from = anywhere(line.x);
        release(line);
        to_.vector(kShift, kShiftLeft, define(line.result), from, whole(), line.number);
        return true;
      }
      case Do::compare: case Do::compareIntegers: {
        const int x = inRegister(line.x);
        const Place y = anywhere(line.y);
        release(line);
        const int mask = defineMask(line.result);
        if (mask < 0) return false;
        to_.vector(line.what == Do::compare ? kCompare : kCompareIntegers, mask, x, y, whole(), line.number);
        return true;
      }
      case Do::choose: {
        const int truth = at(line.x).reg, no = inRegister(line.y);
        const Place yes = anywhere(line.z);
        release(line);
        to_.vector(kChoose, define(line.result), no, yes, {truth, false, length_});
        return true;
      }
      case Do::maskAnd: return writeMask(line, kMaskAnd);
      case Do::maskOr: return writeMask(line, kMaskOr);
      case Do::maskXor: return writeMask(line, kMaskXor);
      case Do::maskNot: return writeMask(line, kMaskNot);
      case Do::fold:
        foldInto(to_, phase_.folds[static_cast<size_t>(line.number)].how, runningOf(line.number, line.beside, static_cast<int>(phase_.folds.size())),
                 inRegister(line.x), tail_);
        release(line);
        return true;
      case Do::sqrt: case Do::inverse14: case Do::round: case Do::fromInteger: {
        const Place from = anywhere(line.x);
        release(line);
        to_.vector(opcodeOf(line.what), define(line.result), 0, from, whole(), line.what == Do::round ? line.number : -1);
        return true;
      }
      default: {
        Value x = line.x, y = line.y;
        if (commutes(line.what) && at(x).reg < 0 && at(y).reg >= 0) std::swap(x, y);
        const int first = inRegister(x);
        const Place last = anywhere(y);
        release(line);
        to_.vector(opcodeOf(line.what), define(line.result), first, last, whole());
        return true;
      }
    }
  }

  /** The processor writes such a sum over a factor or over the summand: over one that nothing reads any more, or over a copy. */
  void writeProduct(const Line& line, const Opcode (&forms)[2]) {
    Value x = line.x, y = line.y;
    if (!endsIn(x, line) && endsIn(y, line)) std::swap(x, y);
    if (!endsIn(x, line) && endsIn(line.z, line)) {
      const int sum = inRegister(line.z), factor = inRegister(x);
      const Place other = anywhere(y);
      to_.vector(forms[1], sum, factor, other, whole());
      release(line);
      take(sum, line.result);
      return;
    }
    int product = endsIn(x, line) ? pin(at(x).reg) : -1;
    const int factor = inRegister(y);
    const Place summand = anywhere(line.z);
    if (product < 0) {
      Place from = anywhere(x);
      product = pin(freeVector());
      vectors_[static_cast<size_t>(product)] = kNone;
      const Opcode copy = from.reg >= 0 ? kMove : from.repeated ? kRepeat : kLoad;
      from.repeated = false;
      to_.vector(copy, product, 0, from, whole());
    }
    to_.vector(forms[0], product, factor, summand, whole());
    release(line);
    take(product, line.result);
  }
  void take(int reg, Value v) {
    vectors_[static_cast<size_t>(reg)] = v;
    at(v).reg = reg;
  }

  bool writeMask(const Line& line, uint8_t number) {
    const int x = at(line.x).reg, y = line.y < 0 ? 0 : at(line.y).reg;
    release(line);
    const int mask = defineMask(line.result);
    if (mask < 0) return false;
    // With one operand it comes last.
    if (line.y < 0)
      to_.mask(number, mask, 0, x, false);
    else
      to_.mask(number, mask, x, y, true);
    return true;
  }

  Assembler& to_;
  const Lines& lines_;
  const Surroundings& around_;
  const Phase& phase_;
  bool tail_;
  /** What is computed once for a row is in short vectors: divisions and roots of them are much faster. */
  uint8_t length_;
  std::vector<Local> locals_;
  /** The value in each register, and which vectors the line being written needs where they are. */
  std::array<Value, kVectors> vectors_;
  std::array<Value, kMasks> masks_;
  uint32_t pinned_ = 0;
  /** How many slots of the frame values have made room to, those that are free again, and those that the line being written reads. */
  int32_t spillSlots_ = 0;
  std::vector<int32_t> spareSlots_, readSlots_;
};

}  // namespace

bool Writer::writeBefore(const Phase& phase) {
  Pass pass(to_, lines_, around_, phase, Pass::For::row);
  const bool fits = pass.write(phase.before, 1);
  spillSlots_ = std::max(spillSlots_, pass.spillSlots());
  return fits;
}

bool Writer::write(const Phase& phase, int beside, bool tail) {
  Pass pass(to_, lines_, around_, phase, tail ? Pass::For::tail : Pass::For::vectors);
  const bool fits = pass.write(phase.lines, beside);
  spillSlots_ = std::max(spillSlots_, pass.spillSlots());
  return fits;
}

void Writer::startFolds(const Phase& phase, int beside) {
  for (size_t f = 0; f < phase.folds.size(); f++) {
    const Place from = Place::inCode(4 * lines_.values[static_cast<size_t>(phase.folds[f].nothing)].constant);
    for (int b = 0; b < beside; b++) to_.vector(kRepeat, runningOf(static_cast<int>(f), b, static_cast<int>(phase.folds.size())), 0, from);
  }
}

void Writer::finishFolds(const Phase& phase, int beside) {
  for (size_t f = 0; f < phase.folds.size(); f++) {
    const auto& [how, nothing, result] = phase.folds[f];
    const auto running = [&](int which) { return runningOf(static_cast<int>(f), which, static_cast<int>(phase.folds.size())); };
    for (int width = beside; width > 1; width /= 2)
      for (int b = 0; b < width / 2; b++) foldInto(to_, how, running(b), running(b + width / 2), false);
    // Halves, quarters and so on change places until every lane has the result.
    constexpr int kSpare = 0, kHalves = 0x4e, kNeighbours = 0xb1;
    for (const Opcode swap : {kSwapQuarters, kSwapWithin})
      for (const int order : {kHalves, kNeighbours}) {
        to_.vector(swap, kSpare, swap.number == kSwapQuarters.number ? running(0) : 0, Place::of(running(0)), {}, order);
        foldInto(to_, how, running(0), kSpare, false);
      }
    // Lanes have met the others in different orders, and which of two zeros is the extreme depends on that.
    if (how == FoldOp::max || how == FoldOp::min) to_.vector(kRepeat, running(0), 0, Place::of(running(0)));
    to_.vector(kStore, running(0), 0, frameAt(around_, lines_.values[static_cast<size_t>(result)].frame));
  }
}

}  // namespace tl::code
