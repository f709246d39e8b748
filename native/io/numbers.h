/** Numbers in text, to the last bit what JavaScript reads. */
#pragma once
#include <cstddef>
#include <cstdint>

namespace tl {

/** Text that is not ended by a zero. */
struct Text {
  const char *at, *end;
  size_t size() const { return size_t(end - at); }
};

/** Text without what C calls white space at its ends. */
Text withoutBlanks(Text text);

/**
 * A decimal number: a sign, digits with or without a point, an exponent. False for anything else, and for numbers that are longer
 * than any that programs write.
 */
bool readDecimal(Text text, double& value);

/** A whole number with or without a sign, if it fits 64 bits. */
bool readInteger(Text text, int64_t& value);

}  // namespace tl
