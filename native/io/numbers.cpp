/** @file Numbers in text. */
#include "numbers.h"

#include <clocale>
#include <cstdlib>
#include <cstring>
#if __has_include(<xlocale.h>)
#include <xlocale.h>
#endif

namespace tl {

namespace {

bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

/** Powers of ten that are exact: a whole number below 2^53 times or divided by one of them is rounded once, as it should be. */
constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/** The C library's reading, whatever language the process speaks. */
bool readSlowly(Text text, double& value) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  char copy[128];
  if (text.size() >= sizeof copy || plain == nullptr) return false;
  memcpy(copy, text.at, text.size());
  copy[text.size()] = 0;
  value = strtod_l(copy, nullptr, plain);
  return true;
}

}  // namespace

Text withoutBlanks(Text text) {
  while (text.at < text.end && isBlank(*text.at)) text.at++;
  while (text.at < text.end && isBlank(text.end[-1])) text.end--;
  return text;
}

bool readDecimal(Text text, double& value) {
  const char* at = text.at;
  const bool isNegative = at < text.end && *at == '-';
  if (isNegative || (at < text.end && *at == '+')) at++;
  uint64_t digits = 0;
  int significant = 0, fraction = 0, exponent = 0;
  bool hasDigits = false, hasPoint = false;
  for (; at < text.end; at++) {
    if (isDigit(*at)) {
      hasDigits = true;
      if (significant > 0 || *at != '0') significant++;
      if (significant <= 18) digits = 10 * digits + uint64_t(*at - '0');
      if (hasPoint) fraction++;
    } else if (*at == '.' && !hasPoint) hasPoint = true;
    else break;
  }
  if (!hasDigits) return false;
  if (at < text.end) {
    if (*at != 'e' && *at != 'E') return false;
    at++;
    const bool isBelow = at < text.end && *at == '-';
    if (isBelow || (at < text.end && *at == '+')) at++;
    if (at == text.end) return false;
    for (; at < text.end; at++) {
      if (!isDigit(*at)) return false;
      if (exponent < 10000) exponent = 10 * exponent + (*at - '0');
    }
    if (isBelow) exponent = -exponent;
  }
  const int power = exponent - fraction;
  if (significant > 18 || digits > uint64_t(1) << 53 || power < -22 || power > 22) return readSlowly(text, value);
  value = power < 0 ? double(digits) / powers[-power] : double(digits) * powers[power];
  if (isNegative) value = -value;
  return true;
}

bool readInteger(Text text, int64_t& value) {
  const char* at = text.at;
  const bool isNegative = at < text.end && *at == '-';
  if (isNegative || (at < text.end && *at == '+')) at++;
  if (at == text.end) return false;
  uint64_t size = 0;
  for (; at < text.end; at++) {
    if (!isDigit(*at) || __builtin_mul_overflow(size, uint64_t(10), &size) || __builtin_add_overflow(size, uint64_t(*at - '0'), &size)) return false;
  }
  if (size > (uint64_t(1) << 63) - (isNegative ? 0 : 1)) return false;
  value = int64_t(isNegative ? 0 - size : size);
  return true;
}

}  // namespace tl
