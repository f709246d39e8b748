/**
 * @file Examples written as JSON, as serialized examples, by the rules of src/io/jsonExample.ts.
 *
 * For a text with a mistake, and for what is right but odd (a name twice, an escaped half of a character), the answer is that it
 * cannot be done; TypeScript reads the texts again then, or says what is wrong with them.
 */
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "../tensorloom.h"
#include "blocks.h"
#include "numbers.h"

namespace {

using tl::Text;

void putVarint(std::string& out, uint64_t value) {
  for (; value > 127; value >>= 7) out.push_back(char(value | 128));
  out.push_back(char(value));
}

/** A field of bytes: tag, length, content. */
void putField(std::string& out, int number, std::string_view content) {
  out.push_back(char(number << 3 | 2));
  putVarint(out, content.size());
  out.append(content);
}

void putCharacter(std::string& out, uint32_t code) {
  if (code < 0x80) out.push_back(char(code));
  else if (code < 0x800) {
    out.push_back(char(0xc0 | code >> 6));
    out.push_back(char(0x80 | (code & 63)));
  } else if (code < 0x10000) {
    out.push_back(char(0xe0 | code >> 12));
    out.push_back(char(0x80 | (code >> 6 & 63)));
    out.push_back(char(0x80 | (code & 63)));
  } else {
    out.push_back(char(0xf0 | code >> 18));
    out.push_back(char(0x80 | (code >> 12 & 63)));
    out.push_back(char(0x80 | (code >> 6 & 63)));
    out.push_back(char(0x80 | (code & 63)));
  }
}

/** How many bytes a character of UTF-8 has that is not one byte; 0 where none is there. */
size_t characterAt(const char* at, const char* end) {
  const auto byte = [&](int i) { return uint8_t(at[i]); };
  const auto follows = [&](int i) { return (byte(i) & 0xc0) == 0x80; };
  const size_t room = size_t(end - at);
  if (byte(0) >= 0xc2 && byte(0) < 0xe0) return room >= 2 && follows(1) ? 2 : 0;
  if (byte(0) >= 0xe0 && byte(0) < 0xf0) {
    if (room < 3 || !follows(1) || !follows(2)) return 0;
    const uint32_t code = uint32_t(byte(0) & 15) << 12 | uint32_t(byte(1) & 63) << 6;
    return code >= 0x800 && (code < 0xd800 || code > 0xdfff) ? 3 : 0;
  }
  if (byte(0) >= 0xf0 && byte(0) < 0xf5) {
    if (room < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
    const uint32_t code = uint32_t(byte(0) & 7) << 18 | uint32_t(byte(1) & 63) << 12;
    return code >= 0x10000 && code < 0x110000 ? 4 : 0;
  }
  return 0;
}

class Reader {
 public:
  explicit Reader(Text text) : at(text.at), end(text.end) {}

  /** The example that the text describes, put behind others. */
  bool example(std::string& out) {
    const bool whole = object([&](std::string_view name) {
      if (name != "features") return false;
      std::string content;
      bool isNull;
      if (!nullOr([&] { return features(content); }, isNull)) return false;
      if (!isNull) putField(out, 1, content);
      return true;
    });
    return whole && blanks() == end;
  }

 private:
  const char* at;
  const char* end;
  std::string text;

  const char* blanks() {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) at++;
    return at;
  }

  /** Passes over a sign, where it comes next. */
  bool sign(char c) {
    if (blanks() == end || *at != c) return false;
    at++;
    return true;
  }

  template <typename Read>
  bool nullOr(Read read, bool& isNull) {
    blanks();
    isNull = end - at >= 4 && std::string_view(at, 4) == "null";
    if (!isNull) return read();
    at += 4;
    return true;
  }

  /** Reads an object whose names are all different; `member` reads the value behind a name. */
  template <typename Member>
  bool object(Member member) {
    if (!sign('{')) return false;
    if (sign('}')) return true;
    std::unordered_set<std::string> names;
    do {
      std::string name;
      if (!sign('"') || !string(name) || !sign(':')) return false;
      const auto [place, isNew] = names.insert(std::move(name));
      if (!isNew || !member(*place)) return false;
    } while (sign(','));
    return sign('}');
  }

  bool features(std::string& out) {
    return object([&](std::string_view name) {
      bool isNull;
      return name == "feature" && nullOr([&] { return map(out); }, isNull);
    });
  }

  bool map(std::string& out) {
    return object([&](std::string_view name) {
      std::string value, entry;
      if (!feature(value)) return false;
      putField(entry, 1, name);
      putField(entry, 2, value);
      putField(out, 1, entry);
      return true;
    });
  }

  bool feature(std::string& out) {
    bool isThere = false;
    return object([&](std::string_view name) {
      const int kind = name == "bytesList" || name == "bytes_list"   ? 1
                       : name == "floatList" || name == "float_list" ? 2
                       : name == "int64List" || name == "int64_list" ? 3
                                                                     : 0;
      std::string content;
      bool isNull;
      if (kind == 0 || !nullOr([&] { return list(kind, content); }, isNull)) return false;
      if (isNull) return true;
      putField(out, kind, content);
      // Of several lists none would be the right one.
      return !std::exchange(isThere, true);
    });
  }

  bool list(int kind, std::string& out) {
    return object([&](std::string_view name) {
      bool isNull;
      return name == "value" && nullOr([&] { return values(kind, out); }, isNull);
    });
  }

  bool values(int kind, std::string& out) {
    if (!sign('[')) return false;
    if (sign(']')) return true;
    do {
      blanks();
      if (!(kind == 1 ? bytes(out) : kind == 2 ? single(out) : integer(out))) return false;
    } while (sign(','));
    return sign(']');
  }

  /** A string from behind its opening quote on. */
  bool string(std::string& out) {
    while (at < end) {
      const char c = *at;
      if (c == '"') {
        at++;
        return true;
      }
      if (uint8_t(c) < 0x20) return false;
      if (c == '\\') {
        if (!escaped(out)) return false;
        continue;
      }
      const size_t length = uint8_t(c) < 0x80 ? 1 : characterAt(at, end);
      if (length == 0) return false;
      out.append(at, length);
      at += length;
    }
    return false;
  }

  bool escaped(std::string& out) {
    at++;
    if (at == end) return false;
    static constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const char letter = *at++;
    if (const size_t which = letters.find(letter); which != letters.npos) {
      out.push_back(meanings[which]);
      return true;
    }
    uint32_t code, other;
    if (letter != 'u' || !hexadecimal(code)) return false;
    if (code >= 0xd800 && code < 0xe000) {
      if (code >= 0xdc00 || end - at < 6 || at[0] != '\\' || at[1] != 'u') return false;
      at += 2;
      if (!hexadecimal(other) || other < 0xdc00 || other > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (other - 0xdc00);
    }
    putCharacter(out, code);
    return true;
  }

  bool hexadecimal(uint32_t& code) {
    if (end - at < 4) return false;
    code = 0;
    for (const char* stop = at + 4; at < stop; at++) {
      const char c = *at, low = char(c | 32);
      if (c >= '0' && c <= '9') code = code << 4 | uint32_t(c - '0');
      else if (low >= 'a' && low <= 'f') code = code << 4 | uint32_t(low - 'a' + 10);
      else return false;
    }
    return true;
  }

  /** A number as JSON has it, or in a string. Its letters, and whether it is in a string. */
  bool numeral(Text& numeral, bool& isQuoted) {
    isQuoted = at < end && *at == '"';
    if (isQuoted) {
      at++;
      text.clear();
      if (!string(text)) return false;
      numeral = {text.data(), text.data() + text.size()};
      return true;
    }
    const char* start = at;
    while (at < end && ((*at >= '0' && *at <= '9') || *at == '-' || *at == '+' || *at == '.' || *at == 'e' || *at == 'E')) at++;
    numeral = {start, at};
    return true;
  }

  /** Whether the letters are a number of JSON's: no zeros in front, digits on both sides of a point. */
  static bool isPlain(Text text, bool mayHaveZeros) {
    const auto digits = [&] {
      const char* start = text.at;
      while (text.at < text.end && *text.at >= '0' && *text.at <= '9') text.at++;
      return text.at - start;
    };
    if (text.at < text.end && *text.at == '-') text.at++;
    const char* first = text.at;
    const auto whole = digits();
    if (whole == 0 || (whole > 1 && *first == '0' && !mayHaveZeros)) return false;
    if (text.at < text.end && *text.at == '.') {
      text.at++;
      if (digits() == 0) return false;
    }
    if (text.at < text.end && (*text.at == 'e' || *text.at == 'E')) {
      text.at++;
      if (text.at < text.end && (*text.at == '-' || *text.at == '+')) text.at++;
      if (digits() == 0) return false;
    }
    return text.at == text.end;
  }

  bool single(std::string& out) {
    Text letters;
    bool isQuoted;
    if (!numeral(letters, isQuoted)) return false;
    const std::string_view word(letters.at, letters.size());
    double value;
    if (isQuoted && word == "NaN") value = NAN;
    else if (isQuoted && word == "Infinity") value = HUGE_VAL;
    else if (isQuoted && word == "-Infinity") value = -HUGE_VAL;
    else if (!isPlain(letters, isQuoted) || !tl::readDecimal(letters, value) || !std::isfinite(float(value))) return false;
    const auto narrow = float(value);
    out.push_back(0x0d);
    out.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
    return true;
  }

  bool integer(std::string& out) {
    Text letters;
    bool isQuoted;
    int64_t value;
    if (!numeral(letters, isQuoted) || !isPlain(letters, isQuoted)) return false;
    if (!tl::readInteger(letters, value)) {
      constexpr double largest = 9007199254740991;
      double number;
      if (!tl::readDecimal(letters, number) || number != std::trunc(number) || std::fabs(number) > largest) return false;
      value = int64_t(number);
    }
    out.push_back(0x08);
    putVarint(out, uint64_t(value));
    return true;
  }

  /** A string of base64, with either alphabet, as a field. */
  bool bytes(std::string& out) {
    if (!sign('"')) return false;
    text.clear();
    if (!string(text)) return false;
    for (int i = 0; i < 2 && !text.empty() && text.back() == '='; i++) text.pop_back();
    if (text.size() % 4 == 1) return false;
    std::string decoded;
    decoded.reserve(3 * text.size() / 4);
    uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
      const int six = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+' || c == '-' ? 62
                      : c == '/' || c == '_' ? 63
                                             : -1;
      if (six < 0) return false;
      bits = bits << 6 | uint32_t(six);
      count += 6;
      if (count >= 8) decoded.push_back(char(bits >> (count -= 8)));
    }
    putField(out, 1, decoded);
    return true;
  }
};

}  // namespace

/** Reads texts that lie one behind the other in `data`. Gives a block of the serialized examples and one of their ends, or 0. */
TL_API int64_t tl_json_examples(int64_t data, int64_t offsets, int64_t count) {
  return tl::blocksFrom(2, [&](std::vector<tl::Block>& results) {
    const auto* text = reinterpret_cast<const char*>(data);
    const auto* places = reinterpret_cast<const int32_t*>(offsets);
    std::string example;
    for (int64_t i = 0; i < count; i++) {
      example.clear();
      if (!Reader({text + places[i], text + places[i + 1]}).example(example)) return false;
      results[0].append(example.data(), example.size());
      if (results[0].size() >= size_t(1) << 31) return false;
      results[1].push(int32_t(results[0].size()));
    }
    return true;
  });
}
