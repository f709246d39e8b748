/** The C ABI: decoding a program, running it, and the names of everything that has a number. */
#include "program.h"

#include <cmath>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>

#include "../tensorloom.h"
#include "../simd/kernels.h"
#include "packs.h"
#include "pool.h"

namespace tl {
namespace {

struct Program {
  std::vector<InstructionPtr> instructions;
  Packs packs;
  /** Whether all instructions are. */
  bool isBrief = true;
  /** By the number of the instruction that each begins with; null for others. */
  std::vector<Owned<Chain>> chains;

  void findChains() {
    std::vector<RowWise*> rowWise;
    for (InstructionPtr& instruction : instructions) rowWise.push_back(instruction->rowWise());
    chains.resize(rowWise.size());
    for (size_t i = 0; i < rowWise.size(); i++) {
      auto chain = make<Chain>(std::vector<RowWise*>(rowWise.begin() + static_cast<int64_t>(i), rowWise.end()));
      const size_t length = chain->length();
      if (length < 2) continue;
      chains[i] = std::move(chain);
      i += length - 1;
    }
  }
};

/** The clock of `process.hrtime`. */
double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void say(const char* message, char* error, int64_t room) {
  if (room <= 0) return;
  std::strncpy(error, message, static_cast<size_t>(room - 1));
  error[room - 1] = 0;
}

#define TL_NAME(name) #name,
constexpr const char* dtypeNames[] = {TL_DTYPES(TL_NAME)};
constexpr const char* opNames[] = {TL_OPS(TL_NAME)};
constexpr const char* instructionNames[] = {TL_INSTRUCTIONS(TL_NAME)};
constexpr const char* reduceNames[] = {TL_REDUCES(TL_NAME)};
constexpr const char* combineNames[] = {TL_COMBINES(TL_NAME)};
constexpr const char* boundsNames[] = {TL_BOUNDS(TL_NAME)};
constexpr const char* scanNames[] = {TL_SCANS(TL_NAME)};
constexpr const char* windowNames[] = {TL_WINDOWS(TL_NAME)};
constexpr const char* randomNames[] = {TL_RANDOMS(TL_NAME)};
constexpr const char* convNames[] = {TL_CONV_RESULTS(TL_NAME)};
constexpr const char* lastsNames[] = {TL_LASTS(TL_NAME)};
constexpr const char* failureNames[] = {TL_FAILURES(TL_NAME)};

/** Names that are C++ keywords carry a trailing underscore here and none outside. */
bool sameName(const char* ours, const char* theirs) {
  const size_t n = std::strlen(ours);
  const size_t length = n > 0 && ours[n - 1] == '_' ? n - 1 : n;
  return std::strlen(theirs) == length && std::strncmp(ours, theirs, length) == 0;
}

struct Family {
  const char* name;
  const char* const* members;
  size_t count;
};
#define TL_FAMILY(name, members) {name, members, sizeof(members) / sizeof(members[0])}
constexpr Family families[] = {
    TL_FAMILY("dtype", dtypeNames),   TL_FAMILY("op", opNames),           TL_FAMILY("instruction", instructionNames),
    TL_FAMILY("reduce", reduceNames), TL_FAMILY("combine", combineNames), TL_FAMILY("bounds", boundsNames),
    TL_FAMILY("scan", scanNames),     TL_FAMILY("random", randomNames),   TL_FAMILY("failure", failureNames),
    TL_FAMILY("window", windowNames), TL_FAMILY("conv", convNames),     TL_FAMILY("lasts", lastsNames),
};

}  // namespace

InstructionPtr decodeInstruction(Reader& in) { return decodeInstruction(in, in.code<InstructionKind>("instruction kind")); }

InstructionPtr decodeInstruction(Reader& in, InstructionKind kind) {
  switch (kind) {
    case InstructionKind::map: return decodeMap(in);
    case InstructionKind::reduce: return decodeReduce(in);
    case InstructionKind::dot: return decodeDot(in);
    case InstructionKind::conv: return decodeConv(in);
    case InstructionKind::gather: return decodeGather(in);
    case InstructionKind::scatter: return decodeScatter(in);
    case InstructionKind::scan: return decodeScan(in);
    case InstructionKind::topk: return decodeTopK(in);
    case InstructionKind::window: return decodeWindow(in);
    case InstructionKind::random: return decodeRandom(in);
    case InstructionKind::blocks: return decodeBlocks(in);
    case InstructionKind::together: return decodeTogether(in);
    default: return decodeCheck(in);
  }
}

}  // namespace tl

using namespace tl;

int64_t tl_version() { return 13; }

const char* tl_variant() { return simd().name; }

int64_t tl_code(const char* family, const char* name) {
  for (const Family& f : families)
    if (std::strcmp(f.name, family) == 0)
      for (size_t i = 0; i < f.count; i++)
        if (sameName(f.members[i], name)) return static_cast<int64_t>(i);
  return -1;
}

void* tl_program_create(const int64_t* words, int64_t count, char* error, int64_t room) {
  try {
    auto program = make<Program>();
    Reader in(words, count, program->packs);
    const int64_t n = in.word(0, count, "instruction count");
    for (int64_t i = 0; i < n; i++) program->instructions.push_back(decodeInstruction(in));
    for (const InstructionPtr& instruction : program->instructions) program->isBrief &= instruction->isBrief();
    program->findChains();
    if (!in.done()) refuse("words are left over after the last instruction");
    return program.release();
  } catch (const BadProgram& bad) {
    say(bad.message, error, room);
  } catch (const std::exception& e) {
    say(e.what(), error, room);
  }
  return nullptr;
}

static int64_t runFrom(int64_t first, Program& program, void* const* table, double* result, double* times, double nanoseconds) {
  const auto& instructions = program.instructions;
  if (first == 0) program.packs.restart(table);
  const bool limited = std::isfinite(nanoseconds);
  const double deadline = limited ? now() + nanoseconds : 0;
  const size_t n = instructions.size();
  for (size_t i = static_cast<size_t>(first); i < n; i++) {
    if (times) times[i] = now();
    Failure failure;
    try {
      // Who wants to know how long instructions take gets them one by one.
      Chain* const chain = times ? nullptr : program.chains[i].get();
      if (chain && chain->pays()) {
        chain->run(table);
        i += chain->length() - 1;
      } else {
        failure = instructions[i]->run(table);
      }
    } catch (const std::bad_alloc&) {
      failure.code = FailureCode::memory;
    }
    if (times) times[n + i] = now();
    if (failure.code != FailureCode::none) {
      result[0] = static_cast<double>(failure.code);
      result[1] = static_cast<double>(i);
      result[2] = static_cast<double>(failure.position);
      result[3] = failure.value;
      return -1;
    }
    if (limited && now() >= deadline) return static_cast<int64_t>(i + 1);
  }
  return static_cast<int64_t>(n);
}

int64_t tl_program_run(void* handle, void* const* table, double* result, double* times, int32_t threads, int64_t first,
                       double nanoseconds) {
  Program& program = *static_cast<Program*>(handle);
  if (program.isBrief) {
    const FlushScope flush;
    return runFrom(first, program, table, result, times, nanoseconds);
  }
  const RunScope scope(threads);
  return runFrom(first, program, table, result, times, nanoseconds);
}

void tl_program_free(void* handle) { delete static_cast<Program*>(handle); }

int32_t tl_processors() { return processors(); }
