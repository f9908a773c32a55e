package batching

import (
	"slices"

	"millrace/tfbridge"
)

// joinRows returns input i of the parts, one after the other. The rows that are missing
// to size are copies of the first row.
func joinRows(parts []*part, i int, size int64) (*tfbridge.Tensor, error) {
	shape := longest(parts, i)
	shape[0] = size
	return filled(parts[0].request.inputs[i].dtype, shape, func(to *tfbridge.Tensor) error {
		at := int64(0) // row offset
		for _, p := range parts {
			if err := copyRows(to, at, p, i); err != nil {
				return err
			}
			at += p.rows
		}
		return repeatFirst(to, at, size, elements(shape[1:]))
	})
}

// longest returns the shape that holds each of the parts' rows of input i.
func longest(parts []*part, i int) []int64 {
	shape := slices.Clone(parts[0].request.inputs[i].shape)
	for _, p := range parts[1:] {
		for d, n := range p.request.inputs[i].shape {
			shape[d] = max(shape[d], n)
		}
	}
	return shape
}

// copyRows copies a part's rows of input i to the rows that begin with row at, and
// pads them with the tensor's first element.
func copyRows(to *tfbridge.Tensor, at int64, p *part, i int) error {
	from := &p.request.inputs[i]
	var room [8]int64 // enough for usual ranks
	have, want := from.shape[1:], to.AppendShape(room[:0])[1:]
	row, wide := elements(have), elements(want)
	if slices.Equal(have, want) {
		return from.copyTo(to, at*row, p.start*row, p.rows*row)
	}
	if p.rows == 0 {
		return nil
	}
	first := at * wide
	if err := fill(to, first, p.rows*wide, from); err != nil {
		return err
	}
	for r := range p.rows {
		if err := copyBlock(to, first+r*wide, want, from, (p.start+r)*row, have); err != nil {
			return err
		}
	}
	return nil
}

// fill sets n elements of to, beginning with element at, to the first element of
// from.
func fill(to *tfbridge.Tensor, at, n int64, from *operand) error {
	if err := from.copyTo(to, at, 0, 1); err != nil {
		return err
	}
	for done := int64(1); done < n; {
		more := min(done, n-done)
		if err := to.CopyElements(at+done, to, at, more); err != nil {
			return err
		}
		done += more
	}
	return nil
}

// copyBlock copies a block of shape have into a block of shape want, whose
// dimensions are at least as long.
func copyBlock(to *tfbridge.Tensor, at int64, want []int64, from *operand, start int64, have []int64) error {
	if slices.Equal(have[1:], want[1:]) {
		return from.copyTo(to, at, start, elements(have))
	}
	wide, row := elements(want[1:]), elements(have[1:])
	for i := range have[0] {
		if err := copyBlock(to, at+i*wide, want[1:], from, start+i*row, have[1:]); err != nil {
			return err
		}
	}
	return nil
}

// fillRows returns a copy of some rows of a tensor, and copies of the first of them
// up to size.
func fillRows(t *tfbridge.Tensor, start, rows, size int64) (*tfbridge.Tensor, error) {
	shape := t.Shape()
	row := elements(shape[1:])
	shape[0] = size
	return filled(t.DataType(), shape, func(to *tfbridge.Tensor) error {
		if err := to.CopyElements(0, t, start*row, rows*row); err != nil {
			return err
		}
		return repeatFirst(to, rows, size, row)
	})
}

// repeatFirst copies the first row of a tensor, of as many elements as row, to those
// from at to size.
func repeatFirst(to *tfbridge.Tensor, at, size, row int64) error {
	for ; at > 0 && at < size; at++ {
		if err := to.CopyElements(at*row, to, 0, row); err != nil {
			return err
		}
	}
	return nil
}
