//go:build !linux

package atomicfile

import "syscall"

const noReplace, exchange = 0, 0

func renameat2(string, string, uint) error { return syscall.ENOSYS }
