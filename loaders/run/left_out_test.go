package run

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"millrace/loaders/quarantine"

	"github.com/google/go-cmp/cmp"
)

// A state with 2,000 bad records of 200,000 is far from its 4 KB.
func TestLeftOutIsSmall(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var places []quarantine.Place
	for file := range 4 {
		for ordinal := range int64(50_000) {
			if random.IntN(100) == 0 {
				places = append(places, quarantine.Place{File: file, Ordinal: ordinal})
			}
		}
	}
	text, err := json.Marshal(encodeLeftOut(places))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 3600 {
		t.Errorf("%d bytes for %d records", len(text), len(places))
	}
	var list leftOut
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	got, ok := list.decode()
	if !ok {
		t.Fatal("the records are refused")
	}
	if diff := cmp.Diff(places, got); diff != "" {
		t.Errorf("(-saved +decoded)\n%s", diff)
	}
}

// What is damaged is refused, or is other records, and takes no more memory than the
// bytes allow.
func FuzzLeftOut(f *testing.F) {
	f.Add([]byte(encodeLeftOut([]quarantine.Place{{Ordinal: 7}, {File: 3, Ordinal: 1 << 40}})))
	f.Add([]byte{0, 200, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{1, 1, 0x80})
	f.Fuzz(func(t *testing.T, list []byte) {
		places, ok := leftOut(list).decode()
		if len(places) > len(list) {
			t.Errorf("%d records of %d bytes", len(places), len(list))
		}
		for _, p := range places {
			if ok && (p.File < 0 || p.Ordinal < 0) {
				t.Errorf("record %d of file %d", p.Ordinal, p.File)
			}
		}
	})
}
