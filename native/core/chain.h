/** Chains: instructions one after the other whose rows threads compute without meeting after each of them. */
#pragma once
#include <cstdint>
#include <vector>

#include "pool.h"
#include "view.h"

namespace tl {

/**
 * Memory that an instruction touches at each of its rows: at the first one the bytes of a slot from `begin` to `end`, and `step` bytes
 * further at each next one. All rows share what has no step.
 */
struct RowBytes {
  int32_t slot, storage;
  int64_t begin, end, step;
  bool isWritten;
  /** Whether it is written only when all rows of all instructions are there. */
  bool isLate = false;
  /** Whether it is read before any row of any instruction is there. */
  bool isEarly = false;

  /** What a view whose first dim is the rows touches. */
  static RowBytes of(const View&, bool isWritten);
  /** All of a view, which is read in the beginning, and maybe by all rows too. */
  static RowBytes shared(const View&);
  /** All of a view, which is written in the end. */
  static RowBytes late(const View&);
};

/** An instruction that can be computed row by row. Rows that it has not finished itself are there when the chain ends. */
class RowWise {
 public:
  virtual ~RowWise() = default;

  /** Multiply-adds of the products that a chain is made for; 0 where an instruction would not begin one. Then `rows` is how many it has. */
  virtual double products() const { return 0; }
  virtual int64_t rows() const { return 0; }
  /** If it has so many rows: how many of them cannot be told apart, and what it touches; otherwise 0. */
  virtual int64_t unitOf(int64_t rows, std::vector<RowBytes>& touched) const = 0;

  /** On the master, before any row. */
  virtual void prepareRows(void* const*) {}
  /** Computes some whole units of all rows on the calling thread. */
  virtual void runRows(void* const* table, Range rows, int64_t all) = 0;
  /** On the master, after all rows. */
  virtual void finishRows(void* const*) {}
};

/**
 * The products of a recurrent network are short, and between them every thread mostly needs what it has computed itself. So rows are cut
 * into parts, and a thread goes through all instructions with its part. Where an instruction touches memory that other rows of an earlier
 * one did, it waits until that one is done in all parts, which is mostly long ago.
 */
class Chain {
 public:
  /** As many instructions as can follow the first in a chain; those that are not row by row are null. */
  explicit Chain(const std::vector<RowWise*>& from);

  /** How many instructions it has; one is none. */
  size_t length() const { return steps_.size(); }
  /** Whether there are rows and work enough for all threads of the program that runs here. */
  bool pays() const;
  void run(void* const* table);

 private:
  struct Step {
    RowWise* instruction;
    std::vector<RowBytes> touched;
    /** How many steps must be done in all parts before it. */
    int64_t needs;
  };
  struct Part;

  bool add(RowWise&);
  /** A part's next step, if no thread is at it and nothing that it needs is missing; whether it ran. */
  bool runNext(void* const* table, std::vector<Part>&, Part&) const;
  void runPart(void* const* table, std::vector<Part>&, Part& mine) const;

  std::vector<Step> steps_;
  int64_t rows_ = 0, unit_ = 1;
  double products_ = 0;
};

}  // namespace tl
