package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
)

// TestCheck skips records. Only records that do not certainly decode are passed to the
// check.
func TestCheck(t *testing.T) {
	needLibrary(t)
	records := corrupt.Examples(10)
	records[5] = slices.Concat([]byte("\x9a\x06\x03abc"), records[5]) // an unknown field
	records[7] = []byte("garbage")
	file := corrupt.Frame(records...)
	file = corrupt.Flip(file, 8*(len(corrupt.Frame(records[:3]...))+13)) // flips a bit of record 3
	whole := corrupt.Frame(corrupt.Example(50))
	names := []string{writeFile(t, file), writeFile(t, whole)}
	size := func(n int64) int64 { return int64(len(corrupt.Frame(records[:n]...))) }
	var asked []string
	check := func(_ context.Context, d *native.Doubt) (native.Verdict, error) {
		record := d.Record
		asked = append(asked, fmt.Sprint(d.File, record))
		if d.Offset != size(record) {
			t.Errorf("record %d is at %d, want %d", record, d.Offset, size(record))
		}
		if want := records[record]; record == 3 && d.Data != nil || record != 3 && !bytes.Equal(d.Data, want) {
			t.Errorf("record %d: data %q, want %q, and none of record 3", record, d.Data, want)
		}
		v := native.Verdict{Good: record == 5, Record: record + 1, Offset: size(record + 1)}
		if record == 7 {
			v.RestOfFile, v.Record = true, 10
		}
		return v, nil
	}
	want := []int{0, 1, 2, 4, 5, 6, 50}
	var rows [][]byte
	for _, id := range slices.Concat(want, want) {
		rows = append(rows, corrupt.Example(id))
	}
	for _, drop := range []bool{false, true} {
		asked = nil
		o := &native.ExamplesOptions{BatchSize: 4, Epochs: 2, Drop: drop, Check: check}
		got, err := bits(t, nativeFiles(t, names, []int64{10, 1}, o).Prefetch(1))
		if err != nil {
			t.Fatal(err)
		}
		good := []string{writeFile(t, corrupt.Frame(rows...))}
		plain, err := bits(t, nativeFiles(t, good, []int64{14}, &native.ExamplesOptions{BatchSize: 4, Epochs: 1, Drop: drop}))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Errorf("drop %v (-good records alone +checked)\n%s", drop, diff)
		}
		if calls := []string{"0 3", "0 5", "0 7", "0 3", "0 5", "0 7"}; !slices.Equal(asked, calls) {
			t.Errorf("drop %v: asked about %v, want %v", drop, asked, calls)
		}
	}
}

// TestCheckEndsTheRun fails where the check does, and where it accepts a record that
// cannot be decoded.
func TestCheckEndsTheRun(t *testing.T) {
	needLibrary(t)
	records := corrupt.Examples(3)
	records[1] = []byte("garbage")
	names := []string{writeFile(t, corrupt.Frame(records...))}
	tooMany := millrace.Errorf(millrace.ErrSchema, "one too many")
	for _, refusal := range []error{nil, tooMany} {
		check := func(context.Context, *native.Doubt) (native.Verdict, error) {
			return native.Verdict{Good: true}, refusal
		}
		got, err := bits(t, nativeFiles(t, names, []int64{3}, &native.ExamplesOptions{Epochs: 1, Check: check}))
		var fault *millrace.Error
		if len(got) != 1 || !errors.As(err, &fault) || !errors.Is(err, millrace.ErrSchema) {
			t.Fatalf("%d batches, %v", len(got), err)
		}
		if refusal == nil && (fault.File != names[0] || fault.Record != 1) || refusal != nil && fault.Msg != tooMany.Msg {
			t.Errorf("check %v: %v", refusal, err)
		}
	}
}
