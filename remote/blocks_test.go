package remote_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"millrace/internal/test/remotetest"
	"millrace/remote"
)

// Readers that proceed and readers that jump get the bytes of their files, although the memory
// of the blocks is used again and again.
func TestReusedBlocks(t *testing.T) {
	s := remotetest.NewServer()
	const files, size = 4, 3<<20 + 12345
	content := make([][]byte, files)
	for i := range content {
		content[i] = noise(size)
		for j := 0; j < size; j += 1 << 10 {
			content[i][j] = byte(i)
		}
		s.Put(fmt.Sprintf("/data/%d", i), content[i])
	}
	c := client(t, s, remote.Options{Memory: 2 << 20})
	var group sync.WaitGroup
	for i := range 2 * files {
		group.Go(func() {
			want := content[i%files]
			f, err := c.Open(t.Context(), fmt.Sprintf("s3://data/%d", i%files))
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			if i < files {
				for range 3 {
					f.Seek(0, io.SeekStart)
					got, err := io.ReadAll(struct{ io.Reader }{f})
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("file %d: %d bytes that differ, %v", i, len(got), err)
					}
				}
				return
			}
			random := rand.New(rand.NewPCG(1, uint64(i)))
			p := make([]byte, 5000)
			for range 300 {
				at := random.Int64N(size - int64(len(p)))
				if _, err := f.ReadAt(p, at); err != nil || !bytes.Equal(p, want[at:at+int64(len(p))]) {
					t.Errorf("file %d, offset %d: other bytes, %v", i%files, at, err)
				}
			}
		})
	}
	group.Wait()
	if peak := c.MemoryPeak(); peak > 2<<20 {
		t.Errorf("%d bytes of blocks", peak)
	}
}
