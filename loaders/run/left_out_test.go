package run

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"millrace/tfrecord"

	"github.com/google/go-cmp/cmp"
)

// The list of 2,000 bad records among 200,000 is much smaller than a state's limit of 4
// KB.
func TestLeftOutIsSmall(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var locations []tfrecord.Location
	for file := range 4 {
		for ordinal := range int64(50_000) {
			if random.IntN(100) == 0 {
				locations = append(locations, tfrecord.Location{File: file, Record: ordinal})
			}
		}
	}
	text, err := json.Marshal(encodeLeftOut(locations))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 3600 {
		t.Errorf("%d bytes for %d records", len(text), len(locations))
	}
	var list leftOut
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	got, ok := list.decode()
	if !ok {
		t.Fatal("the records are refused")
	}
	if diff := cmp.Diff(locations, got); diff != "" {
		t.Errorf("(-saved +decoded)\n%s", diff)
	}
}

// Damaged input is refused or gives other records, and takes no more memory than its
// size allows.
func FuzzLeftOut(f *testing.F) {
	f.Add([]byte(encodeLeftOut([]tfrecord.Location{{Record: 7}, {File: 3, Record: 1 << 40}})))
	f.Add([]byte{0, 200, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{1, 1, 0x80})
	f.Fuzz(func(t *testing.T, list []byte) {
		locations, ok := leftOut(list).decode()
		if len(locations) > len(list) {
			t.Errorf("%d records of %d bytes", len(locations), len(list))
		}
		for _, p := range locations {
			if ok && (p.File < 0 || p.Record < 0) {
				t.Errorf("record %d of file %d", p.Record, p.File)
			}
		}
	})
}
