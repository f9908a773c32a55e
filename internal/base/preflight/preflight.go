// Package preflight finds conditions under which TensorFlow would abort the
// process when it is opened or first used: limits of the system that are too
// low, files of the system that are missing, and environment variables that
// TensorFlow cannot parse. The caller gets an error instead.
package preflight

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/internal/base/machine"
)

// Check returns an error for the first condition that would end the process.
// lookup looks up an environment variable, as [os.LookupEnv] does.
func Check(lookup func(string) (value string, set bool)) error {
	if err := checkLimits(); err != nil {
		return err
	}
	if err := checkFiles(); err != nil {
		return err
	}
	for _, v := range flagVariables {
		value, _ := lookup(v.name)
		if err := v.check(value); err != nil {
			return err
		}
	}
	return checkValues(lookup)
}

// The least that TensorFlow needs to run a small graph, measured with
// TensorFlow 2.21 on two processors. With 1.3 GB of address space it aborts
// when its threads start; with 1.8 GB it works. It has two threads for each
// processor, and each takes a stack and an arena of malloc.
const (
	baseAddresses      = 1280 << 20
	processorAddresses = 128 << 20
	baseData           = 192 << 20 // it aborts in 200 MB of private memory; kernels return errors in 300 MB
	processorData      = 32 << 20
	baseThreads        = 16
	fewestFiles        = 4 // to read the libraries and to count the processors
)

// checkLimits compares the limits of the system with what TensorFlow needs.
func checkLimits() error {
	processors := int64(runtime.NumCPU())
	if have, need := machine.AddressSpace(), baseAddresses+processors*processorAddresses; have < need {
		return millrace.Errorf(millrace.ErrLimit, "ulimit -v leaves this process %s of address space, but TensorFlow needs %s and would end the process; raise the limit, or remove it: ulimit -v unlimited",
			figures.Size(have), figures.Size(need))
	}
	if have, need := machine.DataSpace(), baseData+processors*processorData; have < need {
		return millrace.Errorf(millrace.ErrLimit, "ulimit -d leaves this process %s of private memory, but TensorFlow needs %s and would end the process; raise the limit, or remove it: ulimit -d unlimited",
			figures.Size(have), figures.Size(need))
	}
	if have, need := machine.Threads(), baseThreads+2*processors; have.Free < need {
		return millrace.Errorf(millrace.ErrLimit, "%s leaves this process %s, but TensorFlow starts %d and would end the process; raise the limit",
			have.Bound, figures.Of(have.Free, "thread"), need)
	}
	if free, limit := machine.OpenFiles(); free < fewestFiles {
		return millrace.Errorf(millrace.ErrLimit, "this process may open only %s more, of %d, and TensorFlow would end the process without any; raise the limit: ulimit -n 4096",
			figures.Of(free, "file"), limit)
	}
	return nil
}

// checkFiles looks for what TensorFlow reads of the system. A container without /proc or
// /dev lacks it.
func checkFiles() error {
	if _, err := os.Readlink("/proc/self/exe"); err != nil {
		return needed("/proc", err)
	}
	fd, err := syscall.Open("/dev/urandom", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return nil
	}
	if err != nil {
		return needed("/dev", &os.PathError{Op: "open", Path: "/dev/urandom", Err: err})
	}
	return syscall.Close(fd)
}

// needed returns the error about a file system that is not there.
func needed(dir string, err error) error {
	return millrace.Errorf(millrace.ErrRuntime, "%w; TensorFlow reads it and would end the process without it: give this process %s", err, dir)
}
