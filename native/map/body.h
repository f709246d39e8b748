/** The scalar program inside `map` and `reduce`, compiled to operations on blocks. */
#pragma once
#include <vector>

#include "../code/loop.h"
#include "../core/program.h"
#include "expression.h"

namespace tl {

/** A view over the simplified space. */
struct Operand {
  DType dtype;
  int32_t slot;
  int32_t storage;
  int64_t offset;
  Strides strides;

  Operand(const View& v, const Strides& s) : dtype(v.dtype), slot(v.slot), storage(v.storage), offset(v.offset), strides(s) {}
  /** Positions have strides and no memory. */
  explicit Operand(const Strides& s) : dtype(DType::i64), slot(0), storage(-1), offset(0), strides(s) {}

  /** Whether the other operand may be the same memory. */
  bool mayBe(const Operand& other) const {
    return storage == other.storage || (slot == other.slot && offset == other.offset);
  }
  char* at(void* const* table, int64_t element) const {
    return static_cast<char*>(table[slot]) + offset + element * sizeOf(dtype);
  }
};

/**
 * An expression ready to be evaluated box by box: by a loop generated for it where there is one, or else node by node.
 *
 * Then every node's value is a block: a dense piece of memory (an input read in place, an output written in place, or a
 * register in scratch memory) or a scalar, which is kLanes copies of one value. Registers are reused once their last
 * reader is done, so that a long expression still runs in the first-level cache.
 */
class Body {
 public:
  struct Output {
    Operand operand;
    int64_t node;
  };

  Body(const Expression&, const Layout&, std::vector<Output> outputs);

  /** Whether a loop goes over all of a box. */
  bool isGenerated() const { return static_cast<bool>(loop_); }
  /** The memory one thread needs while evaluating. */
  int64_t scratchBytes() const { return scratchBytes_; }
  /** Register memory alone, which should fit the first-level cache. */
  int64_t registerBytes() const { return registerBytes_; }

  /**
   * Leaves the last multiplication to the caller: if a node is a product of blocks of float32, its factors are set and it is
   * not computed.
   */
  bool leaveProduct(int64_t node, int64_t (&factors)[2]);

  /** One thread's evaluation in progress. */
  class Run {
   public:
    /** With `mayStream` nobody reads results before all of them are there. */
    Run(const Body&, void* const* table, char* scratch, int32_t* failure, bool mayStream = false);
    /** Computes every node over a box and stores the outputs. */
    void evaluate(const Box&);
    const void* value(int64_t node) const { return values_[node]; }
    /** Whether a node's value is a scalar. */
    bool scalar(int64_t node) const;

   private:
    void runLoop(const Box&);

    const Body& body_;
    void* const* table_;
    char* scratch_;
    int32_t* failure_;
    bool streams_;
    const void** values_;
    const void** loaded_;  // per node: the address last loaded, for inputs that several boxes share
    int64_t loadedExtent_[kMaxDims] = {};  // of the box evaluated last
  };

 private:
  enum class Place { constant, inPlace, loaded, loadedScalar, positions, positionScalar, computed, joined };
  struct Step {
    Place place;
    Op op;
    DType dtype;
    Kind kind;
    bool scalar;
    bool shared;       // loaded values may be kept from one box to the next
    int operand;       // input or position operand
    int output;        // the output that the node is computed into, or -1
    int64_t reg;       // offset in scratch
    BlockFn compute;
    BlockFn narrow;
    int argCount;
    int32_t bits;
    int64_t args[kMostOperands];
  };

  void plan(const Expression&, const Layout&);
  bool generate(const Expression&);
  bool streams(const Output&) const;
  friend class Joiner;
  void chooseOutputs();
  void allocate();

  Space space_;
  std::vector<Step> steps_;
  std::vector<Operand> operands_;
  std::vector<Output> outputs_;
  std::vector<bool> direct_;  // outputs that their node writes itself
  std::vector<char> constants_;
  int64_t registerBytes_ = 0;
  int64_t scratchBytes_ = 0;
  /** The generated loop, if there is one, and the same for results that are written past the caches; the dims that both go over, -1 for none. */
  code::Loop loop_, streaming_;
  int loopRow_ = -1, loopColumn_ = -1;
};

}  // namespace tl
