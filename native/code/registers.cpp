/** Giving values registers, and places in the frame where there are not enough. */
#include "registers.h"

namespace tl::code {

Registers::Registers(Assembler& to, const Lines& lines, int32_t frameStart, uint8_t length)
    : to_(to), lines_(lines), frameStart_(frameStart), length_(length) {
  vectors_.fill(kNone);
  masks_.fill(kNone);
}

void Registers::expect(const std::vector<Line>& lines, int beside) {
  const size_t count = lines_.values.size();
  locals_.resize(count * static_cast<size_t>(beside));
  for (size_t i = 0; i < locals_.size(); i++) {
    const Lines::Kept& kept = lines_.values[i % count];
    locals_[i].isMask = kept.isMask;
    locals_[i].constant = kept.constant;
    locals_[i].frame = kept.frame;
  }
  for (size_t i = 0; i < lines.size(); i++) {
    // What these lines compute is in the frame only once they have put it there.
    if (lines[i].result >= 0) at(lines[i].result).frame = -1;
    for (const Value v : {lines[i].x, lines[i].y, lines[i].z})
      if (v >= 0) at(v).uses.push_back(static_cast<int32_t>(i));
  }
}

/** Where a value is in memory; one constant stands for a vector of them. */
Place Registers::home(const Local& local) const {
  return local.constant >= 0 ? Place::inCode(4 * local.constant).all() : frameAt(frameStart_, local.frame);
}

/** The value that is read last makes room. That is none that the line being written reads: there are more registers than operands. */
int Registers::freeVector() {
  int last = 0;
  for (int r = 0; r < kFirstFold; r++) {
    const Value holds = vectors_[static_cast<size_t>(r)];
    if (holds < 0) return r;
    if (at(holds).nextUse() > at(vectors_[static_cast<size_t>(last)]).nextUse()) last = r;
  }
  Local& local = at(vectors_[static_cast<size_t>(last)]);
  if (!local.hasHome()) {
    local.frame = spillSlot();
    local.isSpilled = true;
    to_.vector(kStore, last, 0, home(local), whole());
  }
  local.reg = -1;
  return last;
}

int32_t Registers::spillSlot() {
  if (spareSlots_.empty()) return lines_.frameSlots + spillSlots_++;
  const int32_t slot = spareSlots_.back();
  spareSlots_.pop_back();
  return slot;
}

int Registers::define(Value v) {
  const int reg = freeVector();
  take(reg, v);
  return reg;
}

int Registers::defineMask(Value v) {
  for (int r = kFirstMask; r < kMasks; r++)
    if (masks_[static_cast<size_t>(r)] < 0) {
      masks_[static_cast<size_t>(r)] = v;
      return at(v).reg = r;
    }
  return -1;
}

int Registers::spare() {
  const int reg = freeVector();
  vectors_[static_cast<size_t>(reg)] = kNone;
  return reg;
}

void Registers::take(int reg, Value v) {
  vectors_[static_cast<size_t>(reg)] = v;
  at(v).reg = reg;
}

int Registers::inRegister(Value v) {
  if (at(v).reg < 0) {
    Place from = home(at(v));
    const Opcode load = from.repeated ? kRepeat : kLoad;
    from.repeated = false;
    to_.vector(load, define(v), 0, from, whole());
  }
  return at(v).reg;
}

bool Registers::endsIn(Value v, const Line& line) {
  const Local& local = at(v);
  const size_t reads = static_cast<size_t>(line.x == v) + static_cast<size_t>(line.y == v) + static_cast<size_t>(line.z == v);
  return local.reg >= 0 && local.used + reads == local.uses.size();
}

Place Registers::putAway(Value v) {
  at(v).frame = lines_.values[static_cast<size_t>(v)].frame;
  at(v).isSpilled = false;
  return home(at(v));
}

void Registers::release(const Line& line) {
  for (const Value v : {line.x, line.y, line.z}) {
    if (v < 0) continue;
    Local& local = at(v);
    local.used++;
    if (!local.isDone()) continue;
    if (local.reg >= 0) (local.isMask ? masks_[static_cast<size_t>(local.reg)] : vectors_[static_cast<size_t>(local.reg)]) = kNone;
    if (local.isSpilled) readSlots_.push_back(local.frame);
  }
}

void Registers::endLine() {
  spareSlots_.insert(spareSlots_.end(), readSlots_.begin(), readSlots_.end());
  readSlots_.clear();
}

}  // namespace tl::code
