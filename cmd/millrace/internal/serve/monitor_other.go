//go:build !linux

package serve

import "time"

// Package syscall has no call for a nap here.
const canNap = false

func nap(time.Duration) {}
