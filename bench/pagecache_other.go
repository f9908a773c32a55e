//go:build !linux

package main

import "os"

// dropFromCache leaves the file in the page cache: other systems have no call for
// it.
func dropFromCache(*os.File) error { return nil }
