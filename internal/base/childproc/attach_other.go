//go:build !linux

package childproc

import "os/exec"

// There is no pinned wheel for other systems; this lets the package build.
func attach(*exec.Cmd) {}
