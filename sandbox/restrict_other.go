//go:build !linux

package sandbox

import "millrace"

// Available returns the protection that the kernel offers: none.
func Available() Protection {
	return Protection{Missing: "the sandbox needs Linux"}
}

// InForce returns the protection of this process: none.
func InForce() (p Protection, done bool) { return Protection{}, false }

// Restrict does nothing. With mode Require that is an error.
func Restrict(_ *Policy, mode Mode) (Protection, error) {
	if mode == Require {
		return Protection{}, millrace.Errorf(millrace.ErrRuntime, "the sandbox is required, and needs Linux")
	}
	return Available(), nil
}
