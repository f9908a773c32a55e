package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropFromCache removes a file from the page cache.
func dropFromCache(file *os.File) error {
	return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
}
