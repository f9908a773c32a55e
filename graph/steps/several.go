package steps

import "slices"

// Several batches may come out of one run of the session: see [Input.BatchRows]. The
// producer sends them as the one batch that TensorFlow made of them. The consumer
// cuts it, so that the producer can make the next one meanwhile.

// batchesOf returns how many batches the result of a step is.
func (r *run) batchesOf(b *Batch) int64 {
	size := r.pipe.input.BatchRows
	if size == 0 || b.rows <= size {
		return 1
	}
	return (b.rows-1)/size + 1
}

// cut returns the batches of a step's result, and takes ownership of the result. The
// last batch has the state.
func (r *run) cut(b *Batch) ([]*Batch, error) {
	n := r.batchesOf(b)
	if n == 1 {
		return []*Batch{b}, nil
	}
	defer b.release()
	size := r.pipe.input.BatchRows
	batches := make([]*Batch, n)
	all := make([]Batch, n)
	for i := range batches {
		batches[i] = &all[i]
		first := int64(i) * size
		all[i] = Batch{names: b.names, inputs: b.inputs, rows: min(size, b.rows-first)}
		if b.places != nil {
			all[i].places = slices.Clip(b.places[first : first+all[i].rows])
		}
	}
	batches[n-1].state = b.state
	for _, t := range b.tensors {
		parts, err := t.SplitRows(size)
		if err != nil {
			releaseAll(batches)
			return nil, err
		}
		for i, part := range parts {
			batches[i].tensors = append(batches[i].tensors, part)
		}
	}
	return batches, nil
}

// releaseAll closes batches unless Keep was called.
func releaseAll(batches []*Batch) {
	for _, b := range batches {
		b.release()
	}
}
