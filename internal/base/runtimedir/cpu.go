package runtimedir

import (
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"

	"millrace"
)

// feature is an instruction set that the libraries use without a check.
type feature struct {
	name string
	has  bool
}

// features are the instruction sets that the pinned wheels are compiled for: on x86-64
// AVX (-mavx, which brings SSE4.2 and POPCNT), on arm64 the base architecture. AVX2,
// FMA and AVX-512 kernels are chosen at run time.
func features() []feature {
	if runtime.GOARCH != "amd64" {
		return nil
	}
	return []feature{
		{"SSE4.2", cpu.X86.HasSSE42},
		{"POPCNT", cpu.X86.HasPOPCNT},
		{"AVX", cpu.X86.HasAVX}, // and the operating system saves its registers
	}
}

// CheckCPU reports instruction sets that TensorFlow needs and the processor
// lacks. Opening the library without them ends the process with SIGILL.
func CheckCPU() error { return checkFeatures(features()) }

func checkFeatures(fs []feature) error {
	var missing []string
	for _, f := range fs {
		if !f.has {
			missing = append(missing, f.name)
		}
	}
	if missing == nil {
		return nil
	}
	return millrace.Errorf(millrace.ErrRuntime, "this processor lacks %s, which TensorFlow %s is compiled for", strings.Join(missing, ", "), Pinned().Version)
}
