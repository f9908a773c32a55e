package machine

import (
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

// Vectors returns the processor's family and the vector instructions that a numeric
// library may choose between: "amd64 avx2 fma avx512f". Two machines with different
// results may round differently.
func Vectors() string {
	list := []string{runtime.GOARCH}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"avx512f", cpu.X86.HasAVX512F},
		{"avx512vnni", cpu.X86.HasAVX512VNNI}, {"avx512bf16", cpu.X86.HasAVX512BF16}, {"amx", cpu.X86.HasAMXTile},
		{"sve", cpu.ARM64.HasSVE}, {"asimddp", cpu.ARM64.HasASIMDDP},
	} {
		if f.has {
			list = append(list, f.name)
		}
	}
	return strings.Join(list, " ")
}
