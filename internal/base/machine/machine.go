// Package machine reports the memory, open files and threads that the system
// allows this process, and the memory and time that the process has used.
package machine

import (
	"bytes"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Unlimited means the absence of a limit.
const Unlimited = math.MaxInt64

// soft returns a soft limit of the process. It returns Unlimited if there is no limit
// or the limit is unknown.
func soft(resource int) int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(resource, &limit) != nil {
		return Unlimited
	}
	return int64(min(limit.Cur, Unlimited))
}

// status returns the number of a key in /proc/self/status, or in a file of that
// format, and whether the file has the key.
func status(file, key string) (n int64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		rest, found := bytes.CutPrefix(line, []byte(key+":"))
		if !found {
			continue
		}
		fields := strings.Fields(string(rest))
		if len(fields) == 0 {
			return 0, false
		}
		if n, err = strconv.ParseInt(fields[0], 10, 64); err != nil {
			return 0, false
		}
		if len(fields) == 2 && fields[1] == "kB" {
			n <<= 10
		}
		return n, true
	}
	return 0, false
}

// groups yields the folder of the process's control group and the folders of the groups
// that contain it, in either version of control groups. The files of version 1 are in a
// folder of their controller, "memory" or "pids"; v1 is set for that version.
func groups(self, root, controller string) iter.Seq2[string, bool] {
	return func(yield func(folder string, v1 bool) bool) {
		lines, err := os.ReadFile(self)
		if err != nil {
			return
		}
		for line := range strings.Lines(string(lines)) {
			parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(parts) != 3 || parts[1] != "" && parts[1] != controller {
				continue
			}
			for group := filepath.Clean("/" + parts[2]); ; group = filepath.Dir(group) {
				if !yield(filepath.Join(root, parts[1], group), parts[1] != "") {
					return
				}
				if group == "/" {
					break
				}
			}
		}
	}
}

// number reads a file that holds a number.
func number(file string) (n int64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil // "max" is not a number: there is no limit
}

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
