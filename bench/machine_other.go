//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// pinClient does nothing: other systems have no such calls.
func pinClient() (restore func(), err error) { return func() {}, nil }

// startPinned starts a server.
func startPinned(c *exec.Cmd) error { return c.Start() }

// dropFromCache leaves the file in the page cache: other systems have no call for
// it.
func dropFromCache(*os.File) error { return nil }
