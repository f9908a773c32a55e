package run

import (
	"cmp"
	"encoding/binary"
	"slices"

	"millrace"
)

// pending says which rows of the order before a run's position are in no batch yet.
type pending interface {
	// take removes the rows of a batch, given by their positions.
	take(batch []int64) error

	// feeds returns what the start of an iterator is fed after the scalars.
	feeds() [][]int64

	reached() int64   // the position after all rows that are in batches
	delivered() int64 // the number of rows in batches
	encode() []byte   // the rows before reached that are in none; no bytes for none
}

// part is a part of an order: the positions from begin up to but without end.
type part struct{ begin, end int64 }

// missing are the rows that workers of a data service have not delivered where they deliver
// blocks as they come:
//
//	order     0 1 2 3 4 5 6 7 8 9 ...
//	          x x x       x x          next is 8, and part {3, 6} is missing
type missing struct {
	rows  int64 // a block has
	next  int64
	parts []part // ascending, before next, and neither empty nor adjacent
}

// take removes the rows of a batch. Those of a block follow one another.
func (m *missing) take(batch []int64) error {
	for i := 0; i < len(batch); {
		run := part{batch[i], batch[i] + 1}
		for i++; i < len(batch) && batch[i] == run.end; i++ {
			run.end++
		}
		if !m.remove(run) {
			return millrace.Errorf(millrace.ErrInternal, "the rows at positions %d to %d came twice, or are not rows of this run", run.begin, run.end-1)
		}
	}
	return nil
}

// remove removes a part, and reports whether it was there.
func (m *missing) remove(run part) bool {
	if run.begin >= m.next {
		if run.begin > m.next {
			m.parts = append(m.parts, part{m.next, run.begin})
		}
		m.next = run.end
		return true
	}
	at, _ := slices.BinarySearchFunc(m.parts, run.begin, func(p part, begin int64) int { return cmp.Compare(p.end, begin+1) })
	if at == len(m.parts) || m.parts[at].begin > run.begin || m.parts[at].end < run.end {
		return false
	}
	whole := m.parts[at]
	var rest []part
	for _, p := range []part{{whole.begin, run.begin}, {run.end, whole.end}} {
		if p.begin < p.end {
			rest = append(rest, p)
		}
	}
	m.parts = slices.Replace(m.parts, at, at+1, rest...)
	return true
}

// feeds returns the parts, and the numbers of their blocks before the one at the position.
func (m *missing) feeds() [][]int64 {
	parts, blocks := []int64{}, []int64{}
	for _, p := range m.parts {
		parts = append(parts, p.begin, p.end)
		for b := p.begin / m.rows; b*m.rows < p.end && b < m.next/m.rows; b++ {
			if n := len(blocks); n == 0 || blocks[n-1] < b {
				blocks = append(blocks, b)
			}
		}
	}
	return [][]int64{parts, blocks}
}

func (m *missing) reached() int64 { return m.next }

func (m *missing) delivered() int64 {
	n := m.next
	for _, p := range m.parts {
		n -= p.end - p.begin
	}
	return n
}

// encode returns the parts from the last one on: for each the distance of its end from what is
// after it, and its size, as varints.
func (m *missing) encode() (text []byte) {
	after := m.next
	for _, p := range slices.Backward(m.parts) {
		text = binary.AppendUvarint(text, uint64(after-p.end))
		text = binary.AppendUvarint(text, uint64(p.end-p.begin))
		after = p.begin
	}
	return text
}

// decodeMissing decodes the result of encode for blocks of a number of rows, and reports whether
// it succeeded.
func decodeMissing(rows, next int64, text []byte) (*missing, bool) {
	m := &missing{rows: rows, next: next}
	for after := next; len(text) > 0; {
		var values [2]int64
		for i := range values {
			n, size := binary.Uvarint(text)
			if size <= 0 || n == 0 || n > uint64(after) {
				return nil, false
			}
			values[i], text = int64(n), text[size:]
			after -= values[i]
		}
		m.parts = append(m.parts, part{after, after + values[1]})
	}
	slices.Reverse(m.parts)
	return m, true
}
