package preflight

import (
	"runtime"

	"millrace"
	"millrace/internal/figures"
	"millrace/internal/machine"
)

// What TensorFlow takes at least until a small graph has run, measured with
// TensorFlow 2.21 on two processors: with 1.3 GB of addresses it aborts as its
// threads start, with 1.8 GB it works. Each thread of its pools, two for each
// processor, takes a stack and an arena of malloc.
const (
	baseAddresses      = 1280 << 20
	processorAddresses = 128 << 20
	baseThreads        = 16
	fewestFiles        = 4 // the libraries are read, and the processors counted
)

// checkLimits compares what the system leaves with what TensorFlow takes.
func checkLimits() error {
	processors := int64(runtime.NumCPU())
	if have, need := machine.AddressSpace(), baseAddresses+processors*processorAddresses; have < need {
		return millrace.Errorf(millrace.ErrLimit, "ulimit -v leaves this process %s of addresses, and TensorFlow ends it with less than %s; raise the limit, or remove it: ulimit -v unlimited",
			figures.Size(have), figures.Size(need))
	}
	if have, need := machine.Threads(), baseThreads+2*processors; have.Free < need {
		return millrace.Errorf(millrace.ErrLimit, "%s leaves this process %s, and TensorFlow ends it when it cannot start %d; raise the limit",
			have.Bound, figures.Of(have.Free, "thread"), need)
	}
	if free, limit := machine.OpenFiles(); free < fewestFiles {
		return millrace.Errorf(millrace.ErrLimit, "this process may open %s more, of %d, and TensorFlow ends it when it may open none; raise the limit: ulimit -n 4096",
			figures.Of(free, "file"), limit)
	}
	return nil
}
