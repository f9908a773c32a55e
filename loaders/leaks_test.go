package loaders_test

import (
	"context"
	"errors"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// warm runs everything once, so that TensorFlow's process-wide resources exist.
func warm(t *testing.T) {
	t.Helper()
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 3)...)
	if _, err := read(t, d); err != nil {
		t.Fatal(err)
	}
}

// A run that fails leaves no resources, whatever its failure is (V4).
func TestFailuresLeaveNothing(t *testing.T) {
	testruntime.Need(t)
	warm(t)
	for _, f := range recordFaults {
		t.Run(f.name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			d := fixture.New(t)
			d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
			f.change(t, d)
			_, err := read(t, d)
			checkFault(t, &f, err)
		})
	}
	for _, c := range corrupt.Cases() {
		if c.Class == "" || c.Row == "C40" {
			continue
		}
		t.Run(c.Row+" "+c.Name, func(t *testing.T) {
			leak.Check(t, tfbridge.Live)
			d := fixture.New(t)
			setCompression(d, c.Compression)
			d.Write(t, "a.tfrecords", c.Data)
			if _, err := read(t, d); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		leak.Check(t, tfbridge.Live)
		d := fixture.New(t)
		d.Args["epochs"] = nil
		d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 4)...)
		d.Save(t)
		l, err := loaders.Open(d.Config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, last := range l.Batches(ctx) {
			if err = last; err == nil {
				cancel()
			}
		}
		if !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("got %v", err)
		}
	})
}

// A config is opened and read several times, 200 times in "make soak". Each time it
// gives the same batches, and memory, threads and files stay as they are (B14).
func TestRoundsLeaveNothing(t *testing.T) {
	testruntime.Need(t)
	warm(t)
	leak.Check(t, tfbridge.Live)
	d := fixture.New(t)
	shuffled(d)
	d.WriteRecords(t, "a.tfrecords", fixture.Records(0, 9)...)
	d.WriteRecords(t, "b.tfrecords", fixture.Records(9, 12)...)
	rounds := soak.Rounds(40, 200)
	var first []int64
	memory := leak.NewGrowth(rounds)
	for i := range rounds {
		ids, err := read(t, d)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = ids
		} else if diff := cmp.Diff(first, ids); diff != "" {
			t.Fatalf("round %d (-first +now)\n%s", i, diff)
		}
		memory.Round(t, i)
	}
	memory.Check(t, 32<<20)
}
