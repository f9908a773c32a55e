package build_test

import (
	"os"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
)

// Go holds a file open from call to call. So a file that is removed meanwhile still
// gives its records, until its size is checked at the end.
func TestFeedKeepsFilesOpen(t *testing.T) {
	testruntime.Need(t)
	lengths := make([]int, 200)
	for i := range lengths {
		lengths[i] = 1
	}
	lengths[0] = 30000 // few records are then parsed at once, and read ahead
	for kind, args := range map[string]fixture.Object{
		"independent":      {"padding": true, "target_batch_size": 1},
		"chunked_sequence": {"batch_size": 1},
	} {
		args["num_read_buffer_bytes"] = 1 // a record for each call
		d := newLists(t, kind, args, lengths)
		l, err := loaders.OpenPlan(checked(t, d, false), nil)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, err := range l.Batches(t.Context()) {
			if err == nil && rows == 0 {
				err = os.Remove(d.Path("0.tfrecords"))
			}
			if err != nil {
				t.Errorf("%s: after %d rows: %v", kind, rows, err)
			}
			if rows++; err != nil || rows == 150 {
				break
			}
		}
		l.Close()
	}
}
