package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Blocks in any order leave parts of the order, and what is encoded continues.
func TestMissing(t *testing.T) {
	m := &missing{rows: 10}
	take := func(wants bool, batch ...int64) {
		t.Helper()
		if err := m.take(batch); (err == nil) != wants {
			t.Errorf("take(%v): %v", batch, err)
		}
	}
	take(true, 0, 1, 2)
	take(true, 20, 21, 22, 40, 41)
	take(true, 10, 11, 13)
	take(false, 11)
	take(false, 39, 40)
	take(false, 41)
	want := [][]int64{{3, 10, 12, 13, 14, 20, 23, 40}, {0, 1, 2, 3}}
	if diff := cmp.Diff(want, m.feeds()); diff != "" {
		t.Errorf("feeds (-want +got)\n%s", diff)
	}
	if m.reached() != 42 || m.delivered() != 11 {
		t.Errorf("at %d with %d rows", m.reached(), m.delivered())
	}
	again, ok := decodeMissing(10, m.next, m.encode())
	if !ok || cmp.Diff(m.feeds(), again.feeds()) != "" {
		t.Errorf("decoded %v, %v, want %v", again, ok, m)
	}
	for _, text := range [][]byte{{0, 1}, {1, 0}, {1}, {50, 1}, {1, 50}, {0x80}} {
		if _, ok := decodeMissing(10, m.next, text); ok {
			t.Errorf("%v is decoded", text)
		}
	}
	take(true, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 18, 19)
	for i := int64(23); i < 40; i++ {
		take(true, i)
	}
	if len(m.encode()) != 0 || m.delivered() != 42 {
		t.Errorf("all is delivered, and %v is missing", m.parts)
	}
}
