package index

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"millrace/tfrecord"
)

// FuzzDecode checks that decode accepts only bytes that encode writes, with and without
// a corrected digest.
func FuzzDecode(f *testing.F) {
	for _, c := range compressions {
		layout := &tfrecord.Layout{}
		for _, n := range []int64{5, 0, 70_000} {
			layout.Append(n)
		}
		x := &tfrecord.Index{Compression: c, Size: layout.End(), ModTime: time.Unix(1, 2), Layout: layout}
		b, err := contentsOf(x).encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:len(b)-digestSize], true)
	}
	f.Fuzz(func(t *testing.T, b []byte, sealed bool) {
		if sealed {
			sum := sha256.Sum256(b)
			b = append(bytes.Clone(b), sum[:]...)
		}
		c, err := decode(b)
		if err != nil {
			return
		}
		again, err := c.encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x\nwas written as\n%x: %v", b, again, err)
		}
		if end, records := c.layout.End(), c.layout.Records(); records > 0 {
			if last := c.layout.Offset(records-1) + c.layout.Length(records-1) + recordFrame; last != end {
				t.Fatalf("the last record ends at %d of %d", last, end)
			}
		}
	})
}
