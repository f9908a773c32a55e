//go:build !linux

package regularfile

import "os"

// ofKernel reports whether the kernel generates an open file, as in /proc. Such files
// look regular, but reading one may block forever, as /proc/kmsg does, or have side
// effects.
func ofKernel(*os.File) bool { return false }
