/**
 * Writes machine code: the few instructions that generated loops are made of, for x86 with AVX-512.
 *
 * Registers are numbers as the processor counts them: general ones from rax (0) to r15, vectors and masks from 0.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tl::code {

enum Register : int { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };

/** Conditions of jumps, for signed numbers, as they are encoded. */
enum class When : uint8_t { notZero = 0x5, less = 0xc, lessOrEqual = 0xe, greater = 0xf };

/** How an instruction on vectors is told from others: its prefix, its table of opcodes and its number there. */
struct Opcode {
  uint8_t prefix;  // 0: none, 1: 66, 2: F3, 3: F2
  uint8_t table;   // 1: 0F, 2: 0F38, 3: 0F3A
  uint8_t number;
};

/** A register or a place in memory, as an instruction's last operand. */
struct Place {
  int reg = -1;
  int base = -1;  // -1 with reg -1: `offset` counts from the beginning of the code
  int index = -1;
  uint8_t scale = 0;  // of the index: 2 to this power
  int32_t offset = 0;
  /** One element of memory stands for all of a vector. */
  bool repeated = false;

  Place all() const {
    Place place = *this;
    place.repeated = true;
    return place;
  }
  static Place of(int reg) { return {reg}; }
  static Place at(int base, int32_t offset, int index = -1, uint8_t scale = 0) { return {-1, base, index, scale, offset}; }
  static Place inCode(int32_t offset) { return {-1, -1, -1, 0, offset}; }
};

/** Which lanes an instruction on vectors writes, and how long its vectors are. */
struct Written {
  int mask = 0;  // 0: all of them
  bool zero = false;  // lanes not written become 0
  uint8_t length = 2;  // 0: 128 bits, 2: 512 bits
};

class Assembler {
 public:
  std::vector<uint8_t> bytes;

  int32_t position() const { return static_cast<int32_t>(bytes.size()); }

  void byte(int value) { bytes.push_back(static_cast<uint8_t>(value)); }
  void word(int32_t value) {
    for (int i = 0; i < 4; i++) byte(value >> (8 * i) & 255);
  }

  /**
   * An instruction on vectors or masks: first = f(second, last), or f(last) with second 0. `immediate` below 0: none. The encoding is
   * EVEX: bits of register numbers beyond the third are in its prefix, inverted.
   */
  void vector(Opcode op, int first, int second, const Place& last, Written lanes = {}, int immediate = -1) {
    const bool isRegister = last.reg >= 0;
    const int high = isRegister ? last.reg >> 4 : last.index >= 0 ? last.index >> 3 : 0;
    const int middle = isRegister ? last.reg >> 3 : last.base >= 0 ? last.base >> 3 : 0;
    byte(0x62);
    byte((~first >> 3 & 1) << 7 | (~high & 1) << 6 | (~middle & 1) << 5 | (~first >> 4 & 1) << 4 | op.table);
    byte((~second & 15) << 3 | 4 | op.prefix);
    byte(lanes.zero << 7 | lanes.length << 5 | last.repeated << 4 | (~second >> 4 & 1) << 3 | lanes.mask);
    byte(op.number);
    operand(first & 7, last, immediate >= 0 ? 1 : 0);
    if (immediate >= 0) byte(immediate);
  }

  /** An instruction on masks; the encoding without a second operand has short vectors. */
  void mask(uint8_t number, int first, int second, int last, bool hasSecond) {
    byte(0xc5);
    byte(0x80 | (~second & 15) << 3 | (hasSecond ? 4 : 0));
    byte(number);
    byte(0xc0 | first << 3 | last);
  }

  void push(int reg) {
    if (reg >= 8) byte(0x41);
    byte(0x50 + (reg & 7));
  }
  void pop(int reg) {
    if (reg >= 8) byte(0x41);
    byte(0x58 + (reg & 7));
  }
  void move(int to, const Place& from) { general(0x8b, to, from); }
  void add(const Place& to, int32_t value) { withImmediate(0, to, value); }
  void add(int to, int32_t value) { add(Place::of(to), value); }
  void subtract(int to, int32_t value) { withImmediate(5, Place::of(to), value); }
  void subtractRegister(int to, int from) { general(0x2b, to, Place::of(from)); }
  void compare(int left, int right) { general(0x3b, left, Place::of(right)); }
  void clear(int reg) { general(0x33, reg, Place::of(reg)); }
  void setAll(int reg) {
    general(0xc7, 0, Place::of(reg), 4);
    word(-1);
  }
  /** Keeps the lowest bits of a register, as many as another says: bzhi. */
  void keepLowest(int reg, int count) {
    byte(0xc4);
    byte((reg < 8) << 7 | 1 << 6 | (reg < 8) << 5 | 2);
    byte((~count & 15) << 3);
    byte(0xf5);
    byte(0xc0 | (reg & 7) << 3 | (reg & 7));
  }
  /** A mask from a general register below r8. */
  void toMask(int mask, int reg) { this->mask(0x92, mask, 0, reg, false); }

  /** Jumps back to a place, or ahead to one that `land` sets. */
  void jump(When when, int32_t target) {
    const int32_t at = jump(when);
    patch(at, target);
  }
  int32_t jump(When when) {
    byte(0x0f);
    byte(0x80 | static_cast<int>(when));
    word(0);
    return position();
  }
  void land(int32_t jump) { patch(jump, position()); }

  /** Waits until other threads see what was written past the caches: sfence. */
  void fence() { byte(0x0f), byte(0xae), byte(0xf8); }
  /** Returns. What is in the upper parts of vectors would make other code slow. */
  void leave() {
    byte(0xc5), byte(0xf8), byte(0x77);  // vzeroupper
    byte(0xc3);                          // ret
  }

 private:
  void patch(int32_t jump, int32_t target) {
    for (int i = 0; i < 4; i++) bytes[static_cast<size_t>(jump - 4 + i)] = static_cast<uint8_t>((target - jump) >> (8 * i));
  }
  /** An instruction on general registers of 64 bits. */
  void general(uint8_t number, int reg, const Place& last, int after = 0) {
    const int middle = last.reg >= 0 ? last.reg : last.base;
    byte(0x48 | (reg >> 3) << 2 | (last.index >= 8) << 1 | (middle >= 8));
    byte(number);
    operand(reg & 7, last, after);
  }
  void withImmediate(int operation, const Place& to, int32_t value) {
    general(0x81, operation, to, 4);
    word(value);
  }
  /** The bytes that say which registers and memory; `after` of the instruction come behind them. */
  void operand(int reg, const Place& last, int after) {
    if (last.reg >= 0) {
      byte(0xc0 | reg << 3 | (last.reg & 7));
    } else if (last.base < 0) {
      byte(reg << 3 | 5);
      word(last.offset - (position() + 4 + after));
    } else if (last.index >= 0 || (last.base & 7) == rsp) {
      byte(0x80 | reg << 3 | 4);
      byte(last.scale << 6 | (last.index >= 0 ? last.index & 7 : 4) << 3 | (last.base & 7));
      word(last.offset);
    } else {
      byte(0x80 | reg << 3 | (last.base & 7));
      word(last.offset);
    }
  }
};

}  // namespace tl::code
