package loaders_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/loaders/quarantine"

	"github.com/google/go-cmp/cmp"
)

// The native operation, which asks Go about some records only, leaves out the records
// that Go leaves out when it checks all of them, and for the same reasons.
func TestNativeReaderLeavesOutTheSame(t *testing.T) {
	testruntime.Need(t)
	const n = 600
	r := rand.New(rand.NewPCG(17, 2))
	var records [][]byte
	for id := range int64(n) {
		record := fixture.Record(id % 100)
		for range r.IntN(3) {
			at := r.IntN(len(record))
			switch r.IntN(3) {
			case 0:
				record[at] ^= 1 << r.IntN(8)
			case 1:
				record[at] += byte(r.IntN(5)) - 2
			case 2:
				record = append(record, byte(r.IntN(64)), byte(r.Uint32()))
			}
		}
		records = append(records, record)
	}
	d := fixture.New(t)
	d.WriteRecords(t, "a.tfrecords", records...)
	d.Args["bad_records"], d.Args["target_batch_size"] = fixture.Object{"skip": n}, 50
	d.Save(t)
	plan, problems := loaders.Check(d.Config(), nil)
	if plan == nil || !plan.LeavesOutNatively() {
		t.Fatalf("the native operation does not leave out bad records: %v", problems)
	}
	var ids [2][][]int64
	var ledgers [2][]quarantine.Entry
	for i, isNative := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "ledger")
		ids[i], _ = batchesOf(t, openBad(t, d, isNative, path), nil)
		var err error
		if ledgers[i], err = quarantine.Read(path); err != nil {
			t.Fatal(err)
		}
	}
	if bad := len(ledgers[0]); bad < n/10 || bad > n*9/10 {
		t.Errorf("%d of %d records are bad; the mutations test little", bad, n)
	}
	if diff := cmp.Diff(ledgers[1], ledgers[0]); diff != "" {
		t.Errorf("ledgers (-Go +native)\n%s", diff)
	}
	if diff := cmp.Diff(ids[1], ids[0]); diff != "" {
		t.Errorf("ids (-Go +native)\n%s", diff)
	}
}
