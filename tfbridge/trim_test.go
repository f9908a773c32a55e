//go:build cgo

package tfbridge_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"millrace/tfbridge"
)

// Freed memory that lies between memory in use goes back to the system.
func TestReleaseMemory(t *testing.T) {
	const pieces, size = 2048, 64 << 10 // small enough for malloc's heaps
	var kept, freed []*tfbridge.Tensor
	for i := range pieces {
		x, err := tfbridge.NewTensor(make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		if i%64 == 63 {
			kept = append(kept, x)
		} else {
			freed = append(freed, x)
		}
	}
	for _, x := range freed {
		x.Close()
	}
	before := resident(t)
	tfbridge.ReleaseMemory()
	after := resident(t)
	if returned := before - after; returned < pieces*size/2 {
		t.Errorf("%d MiB were returned of %d MiB that are free", returned>>20, len(freed)*size>>20)
	}
	for _, x := range kept {
		x.Close()
	}
}

// resident returns the number of bytes of the process that are in memory.
func resident(t *testing.T) (bytes int64) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skip("there is no /proc:", err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "VmRSS:"); ok {
			fmt.Sscan(v, &bytes)
		}
	}
	return bytes << 10
}
