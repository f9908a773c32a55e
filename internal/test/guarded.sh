#!/usr/bin/env bash
# Runs a program with a guard page beside pieces of memory that malloc gives: a use of
# freed memory, or one beyond its end, ends the program with a report that says who
# freed the memory. TensorFlow's library needs no other build for it. The allocator is
# LLVM's scudo with GWP-ASan (Debian: apt install libclang-rt-14-dev).
#
# Each guarded piece takes two memory maps. Linux allows 65,530 a process by default,
# which is enough for one piece in a hundred. As root,
#     sysctl -w vm.max_map_count=1000000
# allows one in five, which found both faults that this script was made for.
set -euo pipefail

scudo=${SCUDO:-$(ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-x86_64.so 2>/dev/null | tail -n 1)}
if [ -z "$scudo" ]; then
  echo "SKIPPED: guarded memory. Install LLVM's scudo (Debian: apt install libclang-rt-14-dev) or set SCUDO to its library." >&2
  exit 0
fi
pieces=$((($(cat /proc/sys/vm/max_map_count) - 10000) / 2))
pieces=$((pieces > 250000 ? 250000 : pieces))
rate=$((1250000 / pieces))
export LD_PRELOAD=$scudo
export SCUDO_OPTIONS="GWP_ASAN_Enabled=1:GWP_ASAN_SampleRate=$rate:GWP_ASAN_MaxSimultaneousAllocations=$pieces:GWP_ASAN_InstallSignalHandlers=1:dealloc_type_mismatch=0:delete_size_mismatch=0"
exec "$@"
