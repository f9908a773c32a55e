package doctor

import (
	"millrace/internal/figures"
	"millrace/internal/machine"
)

// What a process that reads files in parallel needs at least.
const (
	fewestDescriptors = 32  // TensorFlow ends the process when there are none
	goodDescriptors   = 256 // files read at a time, and those of the libraries
	leastMemory       = 512 << 20
	goodMemory        = 2 << 30
)

// descriptors checks how many files may be opened.
func (e *examination) descriptors() {
	const check, remedy = "open files", "raise the limit: ulimit -n 4096"
	free, limit := machine.OpenFiles()
	switch {
	case free < fewestDescriptors:
		e.add(check, Fail, remedy, "only %d more can be opened, of %d; TensorFlow ends the process when there are none", free, limit)
	case free < goodDescriptors:
		e.add(check, Warn, remedy, "only %d more can be opened, of %d", free, limit)
	case limit == machine.Unlimited:
		e.add(check, OK, "", "any number can be opened")
	default:
		e.add(check, OK, "", "%s more can be opened", figures.Count(free))
	}
}

// memory checks how much memory the process can have.
func (e *examination) memory() {
	const check, remedy = "memory", "end other programs, or raise the limit"
	have := machine.AvailableMemory()
	switch {
	case have.Bytes == machine.Unlimited:
		e.add(check, Warn, "", "how much there is is not known")
	case have.Bytes < leastMemory:
		e.add(check, Fail, remedy, "%s are all that %s; TensorFlow alone takes some 300 MB", figures.Size(have.Bytes), have.Bound)
	case have.Bytes < goodMemory:
		e.add(check, Warn, remedy, "%s are all that %s", figures.Size(have.Bytes), have.Bound)
	default:
		e.add(check, OK, "", "%s that %s", figures.Size(have.Bytes), have.Bound)
	}
}
