/** Writing lines of vector code down, one or a few instructions for each. */
#include "writer.h"

#include <algorithm>

namespace tl::code {
namespace {

// In the processor's manuals: vmovaps, vcmpps, vpcmpd, vblendmps, vpslld; of bytes vmovdqu8, vptestmb, vpmovm2b, vpabsb; vshuff32x4,
// vpermilps, vmovss, vmovntps; vfmadd213ps, vfmadd231ps, vfnmadd213ps, vfnmadd231ps; kandw, knotw, korw, kxorw.
constexpr Opcode kMove = {0, 1, 0x28};
constexpr Opcode kCompare = {0, 1, 0xc2}, kCompareIntegers = {1, 3, 0x1f}, kChoose = {1, 2, 0x65}, kShift = {1, 1, 0x72};
constexpr Opcode kLoadBytes = {3, 1, 0x6f}, kStoreBytes = {3, 1, 0x7f}, kTestBytes = {1, 2, 0x26}, kMaskToBytes = {2, 2, 0x28};
constexpr Opcode kMagnitudeOfBytes = {1, 2, 0x1c}, kSwapQuarters = {1, 3, 0x23}, kSwapWithin = {1, 3, 0x04};
constexpr Opcode kStoreOne = {2, 1, 0x11}, kStream = {0, 1, 0x2b};
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
    case Do::scale: return {1, 2, 0x2c};      // vscalefps
    case Do::inverse14: return {1, 2, 0x4c};  // vrcp14ps
    case Do::round: return {1, 3, 0x08};      // vrndscaleps
    default: return {0, 1, 0x5b};             // fromInteger: vcvtdq2ps
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

/** The vector with a fold's running result for one of the vectors side by side: the first ones of all folds come first. */
int runningOf(int fold, int which, int folds) { return kFirstFold + which * folds + fold; }

/** One pass over some lines: those of a row, those of whole vectors, or those of the elements that are left at a row's end. */
class Pass {
 public:
  enum class For { row, vectors, tail };

  Pass(Assembler& to, const Lines& lines, const Surroundings& around, const Phase& phase, For what)
      : to_(to), lines_(lines), around_(around), phase_(phase), tail_(what == For::tail), length_(what == For::row ? kShort : kLong),
        registers_(to, lines, around.frameStart, length_) {}

  bool write(const std::vector<Line>& lines, int beside) {
    const std::vector<Line> all = expand(lines, beside);
    registers_.expect(all, beside);
    for (const Line& line : all) {
      if (!writeLine(line)) return false;
      registers_.endLine();
    }
    return true;
  }

  int32_t spillSlots() const { return registers_.spillSlots(); }

 private:
  /** Lines for several vectors, which have values of their own for what the lines compute. */
  std::vector<Line> expand(const std::vector<Line>& lines, int beside) const {
    const size_t count = lines_.values.size();
    std::vector<bool> isOwn(count, false);
    for (const Line& line : lines)
      if (line.result >= 0) isOwn[static_cast<size_t>(line.result)] = true;
    std::vector<Line> all;
    for (const Line& line : lines)
      for (int b = 0; b < beside; b++) {
        const auto own = [&](Value v) {
          return v < 0 || !isOwn[static_cast<size_t>(v)] ? v : v + b * static_cast<int32_t>(count);
        };
        all.push_back({line.what, own(line.result), own(line.x), own(line.y), own(line.z), line.number, b});
      }
    return all;
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
        to_.vector(kLoad, registers_.define(line.result), 0, from, someOrZero());
        return true;
      }
      case Do::loadOne: {
        Place from = element(line.number, 0);
        from.index = -1;
        to_.vector(kRepeat, registers_.define(line.result), 0, from, whole());
        return true;
      }
      case Do::loadTruth: {
        const int mask = registers_.defineMask(line.result);
        if (mask < 0) return false;
        const int bytes = registers_.spare();
        to_.vector(kLoadBytes, bytes, 0, element(line.number, line.beside), someOrZero(kShort));
        to_.vector(kTestBytes, mask, bytes, Place::of(bytes), {0, false, kShort});
        return true;
      }
      case Do::store: {
        const bool streams = !tail_ && around_.operands[static_cast<size_t>(line.number)].streams;
        const int value = registers_.inRegister(line.x);
        to_.vector(streams ? kStream : kStore, value, 0, element(line.number, line.beside), some());
        registers_.release(line);
        return true;
      }
      case Do::storeOne: {
        const int value = registers_.inRegister(line.x);
        Place place = element(line.number, 0);
        place.index = -1;
        to_.vector(kStoreOne, value, 0, place, {0, false, kShort});
        registers_.release(line);
        return true;
      }
      case Do::storeTruth: {
        const int bytes = registers_.spare();
        to_.vector(kMaskToBytes, bytes, 0, Place::of(registers_.registerOf(line.x)), {0, false, kShort});
        to_.vector(kMagnitudeOfBytes, bytes, 0, Place::of(bytes), {0, false, kShort});
        to_.vector(kStoreBytes, bytes, 0, element(line.number, line.beside), some(kShort));
        registers_.release(line);
        return true;
      }
      case Do::putAway: {
        const int reg = registers_.inRegister(line.x);
        to_.vector(kRepeat, reg, 0, Place::of(reg));
        to_.vector(kStore, reg, 0, registers_.putAway(line.x));
        registers_.release(line);
        return true;
      }
      case Do::multiplyAdd: writeProduct(line, kMultiplyAdd); return true;
      case Do::subtractProduct: writeProduct(line, kSubtractProduct); return true;
      case Do::shiftLeft: {
        const Place from = registers_.anywhere(line.x);
        registers_.release(line);
        to_.vector(kShift, kShiftLeft, registers_.define(line.result), from, whole(), line.number);
        return true;
      }
      case Do::compare: case Do::compareIntegers: {
        const int x = registers_.inRegister(line.x);
        const Place y = registers_.anywhere(line.y);
        registers_.release(line);
        const int mask = registers_.defineMask(line.result);
        if (mask < 0) return false;
        to_.vector(line.what == Do::compare ? kCompare : kCompareIntegers, mask, x, y, whole(), line.number);
        return true;
      }
      case Do::choose: {
        const int truth = registers_.registerOf(line.x), no = registers_.inRegister(line.y);
        const Place yes = registers_.anywhere(line.z);
        registers_.release(line);
        to_.vector(kChoose, registers_.define(line.result), no, yes, {truth, false, length_});
        return true;
      }
      case Do::maskAnd: return writeMask(line, kMaskAnd);
      case Do::maskOr: return writeMask(line, kMaskOr);
      case Do::maskXor: return writeMask(line, kMaskXor);
      case Do::maskNot: return writeMask(line, kMaskNot);
      case Do::fold:
        foldInto(to_, phase_.folds[static_cast<size_t>(line.number)].how, runningOf(line.number, line.beside, static_cast<int>(phase_.folds.size())),
                 registers_.inRegister(line.x), tail_);
        registers_.release(line);
        return true;
      case Do::sqrt: case Do::inverse14: case Do::round: case Do::fromInteger: {
        const Place from = registers_.anywhere(line.x);
        registers_.release(line);
        to_.vector(opcodeOf(line.what), registers_.define(line.result), 0, from, whole(), line.what == Do::round ? line.number : -1);
        return true;
      }
      default: {
        Value x = line.x, y = line.y;
        if (commutes(line.what) && registers_.registerOf(x) < 0 && registers_.registerOf(y) >= 0) std::swap(x, y);
        const int first = registers_.inRegister(x);
        const Place last = registers_.anywhere(y);
        registers_.release(line);
        to_.vector(opcodeOf(line.what), registers_.define(line.result), first, last, whole());
        return true;
      }
    }
  }

  /** The processor writes such a sum over a factor or over the summand: over one that nothing reads any more, or over a copy. */
  void writeProduct(const Line& line, const Opcode (&forms)[2]) {
    Value x = line.x, y = line.y;
    if (!registers_.endsIn(x, line) && registers_.endsIn(y, line)) std::swap(x, y);
    if (!registers_.endsIn(x, line) && registers_.endsIn(line.z, line)) {
      const int sum = registers_.inRegister(line.z), factor = registers_.inRegister(x);
      const Place other = registers_.anywhere(y);
      to_.vector(forms[1], sum, factor, other, whole());
      registers_.release(line);
      registers_.take(sum, line.result);
      return;
    }
    int product = registers_.endsIn(x, line) ? registers_.registerOf(x) : -1;
    const int factor = registers_.inRegister(y);
    const Place summand = registers_.anywhere(line.z);
    if (product < 0) {
      Place from = registers_.anywhere(x);
      product = registers_.spare();
      const Opcode copy = from.reg >= 0 ? kMove : from.repeated ? kRepeat : kLoad;
      from.repeated = false;
      to_.vector(copy, product, 0, from, whole());
    }
    to_.vector(forms[0], product, factor, summand, whole());
    registers_.release(line);
    registers_.take(product, line.result);
  }
  bool writeMask(const Line& line, uint8_t number) {
    const int x = registers_.registerOf(line.x), y = line.y < 0 ? 0 : registers_.registerOf(line.y);
    registers_.release(line);
    const int mask = registers_.defineMask(line.result);
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
  Registers registers_;
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
    to_.vector(kStore, running(0), 0, frameAt(around_.frameStart, lines_.values[static_cast<size_t>(result)].frame));
  }
}

}  // namespace tl::code
