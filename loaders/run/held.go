package run

import (
	"encoding/binary"
	"maps"
	"slices"

	"millrace"
)

// held has the records of a plan with buckets that are in no batch yet: those from
// position next on, and the earlier ones that buckets hold. See
// loaders/build/source/held.go.
type held struct {
	next      int64
	positions map[int64]struct{}
}

// newHeld returns the held of a run that begins with the records at some positions.
func newHeld(next int64, positions []int64) *held {
	h := &held{next: next, positions: make(map[int64]struct{}, len(positions))}
	for _, p := range positions {
		h.positions[p] = struct{}{}
	}
	return h
}

// take removes the records of a batch.
func (h *held) take(batch []int64) error {
	if len(batch) > 0 {
		for behind := slices.Max(batch) + 1; h.next < behind; h.next++ {
			h.positions[h.next] = struct{}{}
		}
	}
	for _, p := range batch {
		if _, ok := h.positions[p]; !ok {
			return millrace.Errorf(millrace.ErrInternal, "the record at position %d came twice, or is no record of this run", p)
		}
		delete(h.positions, p)
	}
	return nil
}

func (h *held) feeds() [][]int64 { return [][]int64{h.sorted()} }

func (h *held) reached() int64 { return h.next }

// sorted returns the positions of the records that buckets hold, ascending.
func (h *held) sorted() []int64 { return slices.Sorted(maps.Keys(h.positions)) }

// delivered returns how many records are in batches.
func (h *held) delivered() int64 { return h.next - int64(len(h.positions)) }

// encode returns the held positions as bytes: the distance of each to the next one, and
// of the last one to next, as varints. Records in buckets were mostly read recently, so most
// distances take one or two bytes.
func (h *held) encode() (text []byte) {
	behind := h.next
	for _, p := range slices.Backward(h.sorted()) {
		text, behind = binary.AppendUvarint(text, uint64(behind-p)), p
	}
	return text
}

// decodeHeld decodes the result of encode, up to a number of positions, and reports
// whether it succeeded.
func decodeHeld(next int64, text []byte, most int64) (*held, bool) {
	var positions []int64
	for behind := next; len(text) > 0; {
		n, size := binary.Uvarint(text)
		if size <= 0 || n == 0 || n > uint64(behind) || int64(len(positions)) == most {
			return nil, false
		}
		behind -= int64(n)
		positions, text = append(positions, behind), text[size:]
	}
	return newHeld(next, positions), true
}
