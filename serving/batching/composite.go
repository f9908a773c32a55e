package batching

import (
	"encoding/binary"
	"slices"

	"millrace/tfbridge"
)

/*
Ragged and sparse inputs

A ragged tensor comes as its values and its row splits, a sparse one as indices, values and dense
shape. Their first dimensions differ from the number of rows, so without more knowledge requests
run alone. The model's owner may say which inputs belong together (Options.Ragged, Options.Sparse).
Then requests are joined as tf.concat joins such tensors along the rows:

	               request 1      request 2     batch
	values         [a b c]        [d e]         [a b c d e]
	row_splits     [0 2 3]        [0 0 2]       [0 2 3  3 5]        the last split before is added
	indices        [0 1] [1 0]    [1 4]         [0 1] [1 0] [3 4]   the rows before are added
	dense_shape    [2 9]          [2 9]         [4 9]

Row splits of an inner level count the rows of the next level in the same way. Requests share a
batch if the other dimensions of their dense shapes are equal, for the model may depend on them. A
request whose parts contradict each other runs alone, so that nobody else gets its error. Such
batches are not filled up to an allowed size, and such requests are not split.
*/

// addComposite adds to a request's key what its input i must have in common with that of
// another.
func (r *request) addComposite(o *operand, is role) error {
	if len(o.shape) == 0 {
		r.alone = true
		return nil
	}
	r.key = appendKey(r.key, o, false)
	if is != denseShape {
		return nil
	}
	shape, err := o.ints()
	for i := 1; i < len(shape); i++ {
		r.key = binary.AppendVarint(r.key, shape[i])
	}
	return err
}

// count records the rows of a request's composite inputs, or that it runs alone.
func (c *composites) count(r *request) error {
	for _, of := range c.ragged {
		rows, err := raggedRows(r.inputs, of)
		if err != nil {
			return err
		}
		r.count(rows)
	}
	for _, of := range c.sparse {
		rows, err := sparseRows(r.inputs, of)
		if err != nil {
			return err
		}
		r.count(rows)
	}
	return nil
}

// raggedRows returns the number of rows of a ragged tensor, -1 if its parts do not fit.
func raggedRows(inputs []operand, of []int) (int64, error) {
	rows := int64(-1)
	below := int64(-1) // rows that the level above promises
	for level, i := range of[1:] {
		s, err := inputs[i].ints()
		if err != nil {
			return 0, err
		}
		if len(inputs[i].shape) != 1 || len(s) == 0 || s[0] != 0 || !slices.IsSorted(s) || level > 0 && int64(len(s)-1) != below {
			return -1, nil
		}
		if level == 0 {
			rows = int64(len(s) - 1)
		}
		below = s[len(s)-1]
	}
	if values := inputs[of[0]].shape; len(values) == 0 || values[0] != below {
		return -1, nil
	}
	return rows, nil
}

// sparseRows returns the number of rows of a sparse tensor, -1 if its parts do not fit.
func sparseRows(inputs []operand, of []int) (int64, error) {
	at, values, dense := &inputs[of[0]], &inputs[of[1]], &inputs[of[2]]
	index, err := at.ints()
	if err != nil {
		return 0, err
	}
	shape, err := dense.ints()
	if err != nil {
		return 0, err
	}
	rank := int64(len(shape))
	if len(dense.shape) != 1 || rank == 0 || len(at.shape) != 2 || at.shape[1] != rank || len(values.shape) != 1 || values.shape[0] != at.shape[0] {
		return -1, nil
	}
	last := int64(0)
	for n, i := range index {
		if i < 0 || i >= shape[int64(n)%rank] || int64(n)%rank == 0 && i < last {
			return -1, nil
		}
		if int64(n)%rank == 0 {
			last = i
		}
	}
	return shape[0], nil
}

// joinComposite returns an input of a batch that is part of a composite tensor.
func joinComposite(parts []*part, i int, is role) (*tfbridge.Tensor, error) {
	first := &parts[0].request.inputs[i]
	if is == flat {
		shape := slices.Clone(first.shape)
		for _, p := range parts[1:] {
			shape[0] += p.request.inputs[i].shape[0]
		}
		return filled(first.dtype, shape, func(to *tfbridge.Tensor) error {
			at := int64(0)
			for _, p := range parts {
				o := &p.request.inputs[i]
				n := elements(o.shape)
				if err := o.copyTo(to, at, 0, n); err != nil {
					return err
				}
				at += n
			}
			return nil
		})
	}
	var all []int64
	before, rank := int64(0), first.shape[len(first.shape)-1]
	for _, p := range parts {
		own, err := p.request.inputs[i].ints()
		if err != nil {
			return nil, err
		}
		switch {
		case is == indices:
			for n, v := range own {
				if int64(n)%rank == 0 {
					v += before
				}
				all = append(all, v)
			}
			before += p.rows
		case is == denseShape:
			if all == nil {
				all = append(all, own...)
				all[0] = 0
			}
			all[0] += p.rows
		case all == nil:
			all = append(all, own...)
		default:
			last := all[len(all)-1]
			for _, v := range own[1:] {
				all = append(all, last+v)
			}
		}
	}
	if is == indices {
		return intTensor(first.dtype, []int64{int64(len(all)) / max(rank, 1), rank}, all)
	}
	return intTensor(first.dtype, []int64{int64(len(all))}, all)
}

// cut returns some rows of input i of a batch, if it is part of a composite tensor.
func (c *composites) cut(inputs []*tfbridge.Tensor, i int, start, rows int64) (*tfbridge.Tensor, error) {
	for _, of := range c.ragged {
		if !slices.Contains(of, i) {
			continue
		}
		from, n := start, rows
		for _, level := range of[1:] {
			o := tensorOperand(inputs[level])
			s, err := o.ints()
			if err != nil {
				return nil, err
			}
			own := slices.Clone(s[from : from+n+1])
			from, n = own[0], own[n]-own[0]
			if level == i {
				for j := range own {
					own[j] -= from
				}
				return intTensor(o.dtype, []int64{int64(len(own))}, own)
			}
		}
		return fillRows(inputs[i], from, n, n)
	}
	for _, of := range c.sparse {
		if !slices.Contains(of, i) {
			continue
		}
		o, dense := tensorOperand(inputs[of[0]]), tensorOperand(inputs[of[2]])
		shape, err := dense.ints()
		if err != nil {
			return nil, err
		}
		if i == of[2] {
			shape[0] = rows
			return intTensor(dense.dtype, dense.shape, shape)
		}
		index, err := o.ints()
		if err != nil {
			return nil, err
		}
		rank := int64(len(shape))
		from, end := int64(0), int64(len(index))/rank
		for from < end && index[from*rank] < start {
			from++
		}
		to := from
		for to < end && index[to*rank] < start+rows {
			index[to*rank] -= start
			to++
		}
		if i == of[1] {
			return fillRows(inputs[i], from, to-from, to-from)
		}
		return intTensor(o.dtype, []int64{to - from, rank}, index[from*rank:to*rank])
	}
	return nil, nil
}
