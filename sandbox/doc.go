// Package sandbox has the kernel confine this process to the files and ports that it
// needs. A service calls it once, before it loads a model:
//
//	temp, err := sandbox.NewTemp()
//	if err != nil {
//		return err
//	}
//	defer temp.Close()
//	protection, err := sandbox.Restrict(&sandbox.Policy{
//		Read:   []string{runtimeDir, "/srv/models"},
//		Temp:   temp,
//		Listen: []uint16{8080},
//	}, sandbox.Require)
//
// # Why
//
// A SavedModel is a program. The policy of package savedmodel refuses models whose
// operations touch files, but its list of operations covers only the tricks that its
// authors know. The kernel checks the system call itself, whichever operation makes it.
//
// # How
//
// Two mechanisms of Linux work for processes without privileges, and neither can be undone:
//
//  1. Landlock allows to open, create, rename and remove files beneath the paths of the
//     policy only (Linux 5.13), to bind and connect TCP sockets with its ports only
//     (6.7), and to signal processes of the sandbox only (6.12).
//  2. A seccomp filter refuses with EPERM what Landlock does not cover: executing
//     programs, other sockets, signals, tracing, mounts, keys, io_uring and more.
//     [Restrict] lists them in its source, calls_linux.go.
//
// Both belong to threads, not to processes, and a Go program with cgo has threads that Go
// does not know. Linux 7.0 can restrict all threads at once. For older kernels go-landlock
// uses libpsx, which interrupts each thread by a signal and makes the call there. Seccomp
// has a flag for all threads. Threads that begin later inherit both.
//
// # What it does not do
//
// The kernel checks a file when it is opened. Descriptors that are open already keep
// working. Landlock does not cover stat, chmod, chown, utime and setxattr; metadata of
// files that the user may see stay visible. A model may still use up memory and
// processor time, and may read and change everything that the policy lets the process
// read and change.
package sandbox
