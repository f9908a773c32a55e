#!/usr/bin/env bash
# Runs the C++ tests, the cases and the demo as programs for arm64. On another processor a cross
# compiler builds them and qemu runs them, some twenty times slower than a processor would.
# TensorFlow's library is the one that users on arm64 get.
#
# What it needs there is in Debian's packages: g++-aarch64-linux-gnu, libc6-dev-arm64-cross,
# qemu-user-static and libgtest-dev. Programs start programs, so the kernel must know who runs those
# for arm64: the script tells it if it may.
#
#	arm64.sh                  everything
#	arm64.sh COMMAND [ARG]    one command, where programs are built for arm64
set -euo pipefail
cd "$(dirname "$0")/../.."

# Says what is missing, and what to install. The check is skipped then, as others are.
skip() {
	echo "SKIPPED: arm64. $1" >&2
	exit 0
}

if [ "$(uname -m)" != aarch64 ]; then
	command -v aarch64-linux-gnu-g++ >/dev/null || skip "The cross compiler is missing (Debian: apt install g++-aarch64-linux-gnu libc6-dev-arm64-cross)."
	command -v qemu-aarch64-static >/dev/null || skip "The emulator is missing (Debian: apt install qemu-user-static)."
	export CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
	if ! grep -qs '^interpreter.*aarch64' /proc/sys/fs/binfmt_misc/*; then
		kernel=/proc/sys/fs/binfmt_misc/register
		[ -e $kernel ] || mount -t binfmt_misc binfmt_misc "$(dirname $kernel)" 2>/dev/null || true
		cat /usr/lib/binfmt.d/qemu-aarch64.conf >$kernel 2>/dev/null ||
			skip "The kernel does not start programs for arm64. As root, type: update-binfmts --enable qemu-aarch64, or run this as root."
	fi
fi
[ -e /usr/src/googletest/googletest/src/gtest-all.cc ] || skip "The sources of GoogleTest are missing (Debian: apt install libgtest-dev)."

here=$PWD/build/arm64
mkdir -p "$here"
export GOARCH=arm64 CGO_ENABLED=1 XDG_CACHE_HOME=$here/cache MILLRACE_TEST_RUNTIME=required
unset MILLRACE_RUNTIME
program=$here/millrace

[ $# -eq 0 ] || exec "$@"

# A demo that gives the accuracy of README's. This also builds the program, and installs TensorFlow.
make MILLRACE="$program" demo
"$program" runtime doctor

# GoogleTest's own library is for the processor of this machine.
for part in gtest-all gtest_main; do
	[ -e "$here/$part.o" ] || ${CXX:-g++} -O1 -std=c++17 -pthread -I/usr/src/googletest/googletest \
		-c "/usr/src/googletest/googletest/src/$part.cc" -o "$here/$part.o"
done
gtest="$here/gtest-all.o $here/gtest_main.o"
operations=$("$program" runtime native)
make -s -f cgo/datasets/tests.mk -j"$(nproc)" VARIANT=arm64 CXX="${CXX:-g++}" GTEST="$gtest"
make -s -f cgo/optest/tests.mk -j"$(nproc)" VARIANT=arm64ops CXX="${CXX:-g++}" GTEST="$gtest" OPS="$operations"

# Both engines over every case, and the operations in TensorFlow.
go test -vet=off -count=1 -timeout 3h ./tfrecord/... ./internal/base/wire/... ./graph/dataset/native
go test -vet=off -count=1 -timeout 3h -run Cases ./loaders/build -args -every-case
