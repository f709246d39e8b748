/** Expressions as lines of vector code. */
#pragma once
#include <vector>

#include "lines.h"

namespace tl {

struct Expression;

namespace code {

/** Where the inputs of an expression come from. */
class Inputs {
 public:
  /** Whether an input is the same for all columns of a row. */
  virtual bool isSingle(int input) const = 0;
  /** Its value, for which lines may be added where they go now; kNone if it cannot be had. */
  virtual Value value(int input) = 0;

 protected:
  ~Inputs() = default;
};

/**
 * Adds an expression to a phase; what is the same for a whole row comes before its lines. False if some of it cannot be lines:
 * they are of float32, with int32 and truth values where these are compared and chosen by.
 */
bool translate(Lines&, size_t phase, const Expression&, Inputs&, const std::vector<int64_t>& results, std::vector<Value>& values);

/** Whether that would succeed, given inputs of these types. */
bool canTranslate(const Expression&, const std::vector<int64_t>& results);

/** How an input in memory is read; kNone for types that lines do not have. */
Value load(Lines&, DType, bool single, int operand);

}  // namespace code
}  // namespace tl
