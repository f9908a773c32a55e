package datapipeline

import (
	"iter"
	"slices"

	"millrace/tfbridge"
)

// batchInfo describes the contents of a batch.
type batchInfo struct {
	rows       int64
	lastSeqIdx int64            // largest seq_idx in the batch
	frames     map[string]int64 // frames by key, without padding
}

// fedBatch is a batch made in Go.
type fedBatch struct {
	Element
	info batchInfo
}

// batcher batches rows.
type batcher struct {
	externData *ExternData
	chunking   *Chunking
	batching   *Batching
}

// batches yields batches of rows. The consumer closes them.
func (b *batcher) batches(rows iter.Seq2[row, error]) iter.Seq2[*fedBatch, error] {
	return func(yield func(*fedBatch, error) bool) {
		var batch []row
		longest := 0
		for r, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			length := b.length(r)
			if !b.batching.fits(len(batch)+1, max(longest, length)) {
				if !yield(b.assemble(batch)) {
					return
				}
				batch, longest = nil, 0
			}
			batch, longest = append(batch, r), max(longest, length)
			if len(batch) == b.batching.MaxSeqs {
				if !yield(b.assemble(batch)) {
					return
				}
				batch, longest = nil, 0
			}
		}
		if len(batch) > 0 {
			yield(b.assemble(batch))
		}
	}
}

// length returns the frames of a row, for the key with the most frames.
func (b *batcher) length(r row) int {
	longest := 0
	for _, key := range b.externData.timeKeys() {
		begin, end := b.chunking.window(r, key)
		longest = max(longest, end-begin)
	}
	return longest
}

// assemble makes the tensors of a batch.
func (b *batcher) assemble(rows []row) (*fedBatch, error) {
	batch := &fedBatch{Element{}, batchInfo{rows: int64(len(rows)), frames: map[string]int64{}}}
	set := func(name string, t *tfbridge.Tensor, err error) bool {
		if err != nil {
			batch.Close()
			return false
		}
		batch.Element[name] = t
		return true
	}
	tags, indices := make([]string, len(rows)), make([]int32, len(rows))
	for i, r := range rows {
		tags[i], indices[i] = r.seq.tag, r.seq.idx
		batch.info.lastSeqIdx = max(batch.info.lastSeqIdx, int64(r.seq.idx))
	}
	t, err := tfbridge.NewTensor(tags)
	if !set(SeqTag, t, err) {
		return nil, err
	}
	if t, err = tfbridge.NewTensor(indices); !set(SeqIdx, t, err) {
		return nil, err
	}
	for _, key := range b.externData.Keys() {
		d := b.externData.Data[key]
		sizes := b.sizes(rows, key)
		if t, err = b.padded(rows, key, sizes); !set(key, t, err) {
			return nil, err
		}
		for _, axis := range d.sizeAxes() {
			column := make([]int32, len(rows))
			for i := range rows {
				column[i] = int32(sizes[i][axis])
			}
			if t, err = tfbridge.NewTensor(column); !set(Size(key, axis), t, err) {
				return nil, err
			}
		}
		if d.HasTimeAxis() {
			for i := range rows {
				batch.info.frames[key] += int64(sizes[i][0])
			}
		}
	}
	return batch, nil
}

// sizes returns the dimensions of the data of a key in each row.
func (b *batcher) sizes(rows []row, key string) [][]int {
	sizes := make([][]int, len(rows))
	for i, r := range rows {
		sizes[i] = r.seq.data[key].dims
		if b.externData.Data[key].HasTimeAxis() {
			begin, end := b.chunking.window(r, key)
			sizes[i] = slices.Concat([]int{end - begin}, sizes[i][1:])
		}
	}
	return sizes
}

// padded returns the rows of a key, stacked and padded to the largest.
func (b *batcher) padded(rows []row, key string, sizes [][]int) (*tfbridge.Tensor, error) {
	largest := slices.Clone(sizes[0])
	for _, dims := range sizes {
		for i, n := range dims {
			largest[i] = max(largest[i], n)
		}
	}
	shape := []int64{int64(len(rows))}
	for _, n := range largest {
		shape = append(shape, int64(n))
	}
	d := b.externData.Data[key]
	if d.DType == tfbridge.String {
		values := stack(b, rows, key, largest, func(a array) []string { return a.strings })
		return tfbridge.NewStringTensor(shape, values)
	}
	// The bytes of an element are one more dimension.
	largest = append(largest, d.DType.Size())
	values := stack(b, rows, key, largest, func(a array) []byte { return a.bytes })
	return tfbridge.NewTensorFromBytes(d.DType, shape, values)
}

// stack copies the rows of a key, one after the other. Each row takes the space of an array
// with dimensions largest.
func stack[T any](b *batcher, rows []row, key string, largest []int, values func(array) []T) []T {
	place := product(largest)
	to := make([]T, place*len(rows))
	for i, r := range rows {
		a := r.seq.data[key]
		from, dims, at := values(a), slices.Clone(a.dims), to[i*place:(i+1)*place]
		if len(largest) > len(dims) {
			dims = append(dims, largest[len(dims)])
		}
		if b.externData.Data[key].HasTimeAxis() {
			begin, end := b.chunking.window(r, key)
			first, last := max(begin, 0), min(end, dims[0])
			frame := product(dims[1:])
			from, at = from[first*frame:last*frame], at[(first-begin)*product(largest[1:]):]
			dims[0] = last - first
		}
		copyPadded(at, largest, from, dims)
	}
	return to
}

// copyPadded copies an array into a larger one, in each dimension from index 0 on.
func copyPadded[T any](to []T, toDims []int, from []T, fromDims []int) {
	if len(fromDims) == 0 || slices.Equal(toDims[1:], fromDims[1:]) {
		copy(to, from)
		return
	}
	toStep, fromStep := product(toDims[1:]), product(fromDims[1:])
	for i := range fromDims[0] {
		copyPadded(to[i*toStep:], toDims[1:], from[i*fromStep:][:fromStep], fromDims[1:])
	}
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
