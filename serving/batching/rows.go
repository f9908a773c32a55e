package batching

import (
	"slices"

	"millrace"
	"millrace/tfbridge"
)

// joinRows returns input i of the parts, one after the other. What is missing to
// size rows are copies of the first row.
func joinRows(parts []*part, i int, size int64) (*tfbridge.Tensor, error) {
	shape := longest(parts, i)
	shape[0] = size
	return filled(parts[0].request.inputs[i].DataType(), shape, func(to *tfbridge.Tensor) error {
		at := int64(0) // in rows
		for _, p := range parts {
			if err := copyRows(to, at, p, i); err != nil {
				return err
			}
			at += p.rows
		}
		return repeatFirst(to, at, size, elements(shape[1:]))
	})
}

// filled returns a new tensor that a function has filled.
func filled(dt tfbridge.DataType, shape []int64, fill func(to *tfbridge.Tensor) error) (*tfbridge.Tensor, error) {
	to, err := tfbridge.AllocateTensor(dt, shape)
	if err != nil {
		return nil, err
	}
	if err := fill(to); err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}

// longest returns the shape that holds each of the parts' rows of input i.
func longest(parts []*part, i int) []int64 {
	var room [8]int64
	shape := parts[0].request.inputs[i].Shape()
	for _, p := range parts[1:] {
		for d, n := range p.request.inputs[i].AppendShape(room[:0]) {
			shape[d] = max(shape[d], n)
		}
	}
	return shape
}

// copyRows copies a part's rows of input i to the rows that begin with row at, and
// pads them with the tensor's first element.
func copyRows(to *tfbridge.Tensor, at int64, p *part, i int) error {
	from := p.request.inputs[i]
	var room [2][8]int64 // for usual ranks
	have, want := from.AppendShape(room[0][:0])[1:], to.AppendShape(room[1][:0])[1:]
	row, wide := elements(have), elements(want)
	if slices.Equal(have, want) {
		return to.CopyElements(at*row, from, p.start*row, p.rows*row)
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
func fill(to *tfbridge.Tensor, at, n int64, from *tfbridge.Tensor) error {
	if err := to.CopyElements(at, from, 0, 1); err != nil {
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
func copyBlock(to *tfbridge.Tensor, at int64, want []int64, from *tfbridge.Tensor, start int64, have []int64) error {
	if slices.Equal(have[1:], want[1:]) {
		return to.CopyElements(at, from, start, elements(have))
	}
	wide, row := elements(want[1:]), elements(have[1:])
	for i := range have[0] {
		if err := copyBlock(to, at+i*wide, want[1:], from, start+i*row, have[1:]); err != nil {
			return err
		}
	}
	return nil
}

// joinParts returns output i of a request that was split, in one tensor.
func joinParts(parts []*part, i int) (*tfbridge.Tensor, error) {
	shape := parts[0].outputs[i].Shape()
	shape[0] = 0
	for _, p := range parts {
		got := p.outputs[i].Shape()
		if !slices.Equal(got[1:], shape[1:]) {
			return nil, millrace.Errorf(millrace.ErrModel, "a request was split, and its parts have results of shape %v and %v", parts[0].outputs[i].Shape(), got)
		}
		shape[0] += got[0]
	}
	return filled(parts[0].outputs[i].DataType(), shape, func(to *tfbridge.Tensor) error {
		at := int64(0)
		for _, p := range parts {
			n := p.outputs[i].NumElements()
			if err := to.CopyElements(at, p.outputs[i], 0, n); err != nil {
				return err
			}
			at += n
		}
		return nil
	})
}

// elements returns the product of dimensions.
func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}
