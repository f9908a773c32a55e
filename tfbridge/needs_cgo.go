//go:build !cgo

package tfbridge

// TensorFlow's library has a C interface, so this package needs cgo. Go turns cgo off
// if it finds no C compiler, and when cross-compiling. To turn it on, install a C
// compiler (gcc or clang; on Debian "apt install gcc libc6-dev") and set CGO_ENABLED=1.
// A build without cgo compiles this file alone, so that the compiler only prints the
// name below.
var _ = millrace_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
