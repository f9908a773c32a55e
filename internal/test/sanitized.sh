#!/bin/bash
# Runs tests with the dataset operations compiled for sanitizers: the address and the undefined
# behaviour sanitizer. The library and the rest of the runtime stand in a folder of their own.
#
#	sanitized.sh LIBRARY PACKAGE... [-run PATTERN]
set -euo pipefail
runtime=$(dirname "$(dirname "$1")")
shift
here=$(pwd)/build/sanitized
mkdir -p "$here"
for file in "$runtime"/*; do
	[ "$(basename "$file")" = ops ] || ln -sfn "$file" "$here/"
done
export MILLRACE_RUNTIME=$here
CXXFLAGS='-Wall -Wextra -Werror -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr,null,nonnull-attribute,returns-nonnull-attribute -fno-sanitize-recover=all' \
	bin/millrace runtime native
# The library of the undefined behaviour sanitizer is not in a Go program, as the other one is.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1
export MILLRACE_TEST_RUNTIME=required
exec go test -asan -exec "env LD_PRELOAD=$(${CXX:-g++} -print-file-name=libubsan.so)" -count=1 -timeout 2h "$@"
