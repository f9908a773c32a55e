package doctor

import (
	"millrace/internal/base/figures"
	"millrace/internal/base/machine"
	"millrace/sandbox"
)

// The least that a process needs to read files in parallel.
const (
	fewestDescriptors = 32  // TensorFlow ends the process when it can open none
	goodDescriptors   = 256 // data files in parallel, and the files of the libraries
	leastMemory       = 512 << 20
	goodMemory        = 2 << 30
)

// descriptors checks the number of files that the process may open.
func (e *examination) descriptors() {
	const check, remedy = "open files", "raise the limit: ulimit -n 4096"
	free, limit := machine.OpenFiles()
	switch {
	case free < fewestDescriptors:
		e.add(check, Fail, remedy, "only %d more can be opened, of %d; TensorFlow ends the process when it can open none", free, limit)
	case free < goodDescriptors:
		e.add(check, Warn, remedy, "only %d more can be opened, of %d", free, limit)
	case limit == machine.Unlimited:
		e.add(check, OK, "", "any number can be opened")
	default:
		e.add(check, OK, "", "%s more can be opened", figures.Count(free))
	}
}

// memory checks the memory that the process can allocate.
func (e *examination) memory() {
	const check, remedy = "memory", "end other programs, or raise the limit"
	have := machine.AvailableMemory()
	switch {
	case have.Bytes == machine.Unlimited:
		e.add(check, Warn, "", "the available memory is not known")
	case have.Bytes < leastMemory:
		e.add(check, Fail, remedy, "only %s, which %s; TensorFlow alone takes about 300 MB", figures.Size(have.Bytes), have.Bound)
	case have.Bytes < goodMemory:
		e.add(check, Warn, remedy, "only %s, which %s", figures.Size(have.Bytes), have.Bound)
	default:
		e.add(check, OK, "", "%s, which %s", figures.Size(have.Bytes), have.Bound)
	}
}

// sandbox checks whether the kernel can confine commands.
func (e *examination) sandbox() {
	p := sandbox.Available()
	if p.Whole() {
		e.add("sandbox", OK, "", "%s", p)
		return
	}
	e.add("sandbox", Warn, "docs/sandbox.md says which kernels and containers confine more; commands with --sandbox=require refuse to run here", "%s", p)
}
