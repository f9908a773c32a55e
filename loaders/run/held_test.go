package run

import (
	"errors"
	"testing"

	"millrace"

	"github.com/google/go-cmp/cmp"
)

// Buckets hold the records before the last record of a batch that are in no batch.
func TestHeldPositions(t *testing.T) {
	h := newHeld(0, nil)
	for _, batch := range [][]int64{{0, 2, 3}, {4, 5, 700}, {}, {6, 699}} {
		if err := h.take(batch); err != nil {
			t.Fatal(err)
		}
	}
	if n := h.delivered(); n != 8 || h.next != 701 {
		t.Errorf("%d records before position %d, want 8 before 701", n, h.next)
	}
	text := h.encode()
	got, ok := decodeHeld(h.next, text, 693)
	if !ok {
		t.Fatal("the positions are refused")
	}
	if diff := cmp.Diff(h.sorted(), got.sorted()); diff != "" || got.next != h.next || got.delivered() != 8 {
		t.Errorf("next is %d, delivered %d (-held +decoded)\n%s", got.next, got.delivered(), diff)
	}
	for _, again := range []int64{0, 700} {
		if err := got.take([]int64{again}); !errors.Is(err, millrace.ErrInternal) {
			t.Errorf("position %d comes again: %v", again, err)
		}
	}
}

// Impossible positions are refused: too many, before the first record, or duplicate.
func TestHeldPositionsAreChecked(t *testing.T) {
	for name, text := range map[string][]byte{
		"too many": {1, 1, 1}, "before the first": {2, 4}, "twice": {1, 0}, "not whole": {1, 0x80},
		"beyond 64 bits": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if _, ok := decodeHeld(5, text, 2); ok {
			t.Errorf("%s: %v is accepted", name, text)
		}
	}
	if h, ok := decodeHeld(5, []byte{2, 3}, 2); !ok || !cmp.Equal(h.sorted(), []int64{0, 3}) {
		t.Errorf("got %v, %v", h, ok)
	}
}
