package cases

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// chunkRun is the state of comparing the output of a shuffled chunked_sequence with its
// case. Rows may be in any allowed order, but the batches must then follow exactly from
// the budget.
type chunkRun struct {
	p       *Properties
	lengths []int
	counts  []int // rows of each sequence
	rows    []*chunkRow
	batches []batch
	found   [][]*chunkRow // the rows of each batch
	at      int           // the next batch
}

// chunkPass is the output of one epoch.
type chunkPass struct {
	epoch   int
	rows    []*chunkRow
	batches [][]*chunkRow
	first   int  // first batch of the epoch in the run
	whole   bool // the epoch was not cut by "take"
}

// chunkRow is a row that a case allows: a chunk, or a whole sequence, without
// padding.
type chunkRow struct {
	sequence, number int
	tensors          map[string]*tensor
}

func (r *chunkRow) String() string {
	return fmt.Sprintf("row %d of sequence %d", r.number, r.sequence)
}

// padded returns the values of a tensor in the corner of a larger shape, and
// whether it fits.
func (r *chunkRow) padded(name string, shape []int, fill any) (values []any, ok bool) {
	t := r.tensors[name]
	if len(t.shape) != len(shape) {
		return nil, false
	}
	for i, n := range t.shape {
		if n > shape[i] {
			return nil, false
		}
	}
	return spread(t.values, t.shape, shape, fill), true
}

// spread puts values of one shape into the corner of another.
func spread(values []any, have, want []int, fill any) []any {
	if slices.Equal(have, want) {
		return values
	}
	inner, outer := size(have[1:]), size(want[1:])
	var out []any
	for i := range want[0] {
		if i < have[0] {
			out = append(out, spread(values[i*inner:(i+1)*inner], have[1:], want[1:], fill)...)
			continue
		}
		out = append(out, slices.Repeat([]any{fill}, outer)...)
	}
	return out
}

// read reads the rows that the case allows.
func (r *chunkRun) read() error {
	for i, s := range r.p.Sequences {
		r.lengths, r.counts = append(r.lengths, s.Length), append(r.counts, len(s.Rows))
		for k, raw := range s.Rows {
			tensors, err := readBatch(raw, fmt.Sprintf("sequence %d row %d", i, k))
			if err != nil {
				return err
			}
			r.rows = append(r.rows, &chunkRow{i, k, tensors})
		}
	}
	return nil
}

// find finds the rows of each batch.
func (r *chunkRun) find() error {
	tensors := names(r.rows[0].tensors)
	want := slices.Sorted(slices.Values(append(slices.Clone(tensors), r.p.Auto...)))
	for i, b := range r.batches {
		if got := names(b); !slices.Equal(got, want) {
			return fmt.Errorf("batch %d: expected tensors %q, got %q", i, want, got)
		}
		rows, _, err := allRows([]batch{b}, "actual")
		if err != nil || len(rows) == 0 {
			return fmt.Errorf("batch %d: no rows, or not the same of all tensors: %v", i, err)
		}
		found, err := r.findRows(tensors, rows)
		if err != nil {
			return fmt.Errorf("batch %d: %w", i, err)
		}
		r.found = append(r.found, found)
	}
	return nil
}

// findRows finds the rows of one batch, by their values in the named tensors.
func (r *chunkRun) findRows(tensors []string, rows []row) ([]*chunkRow, error) {
	index := map[string]*chunkRow{}
	for _, known := range r.rows {
		whole := row{}
		for _, k := range tensors {
			fill := zero(rows[0][k].dtype)
			if raw, ok := r.p.Fill[k]; ok {
				t, err := readTensor(raw, "fill")
				if err != nil {
					return nil, err
				}
				fill = t.values[0]
			}
			if values, ok := known.padded(k, rows[0][k].shape, fill); ok {
				whole[k] = rowTensor{known.tensors[k].dtype, rows[0][k].shape, values}
			}
		}
		if key := whole.key(); len(whole) == len(tensors) && index[key] == nil {
			index[key] = known
		}
	}
	var found []*chunkRow
	for i, got := range rows {
		part := row{}
		for _, k := range tensors {
			part[k] = got[k]
		}
		known := index[part.key()]
		if known == nil {
			return nil, fmt.Errorf("row %d is none of the expected ones: %s", i, show(part.key()))
		}
		found = append(found, known)
	}
	for _, k := range tensors {
		for axis, n := range rows[0][k].shape {
			longest := 0
			for _, f := range found {
				longest = max(longest, f.tensors[k].shape[axis])
			}
			if fixed := r.p.Fixed[k]; fixed != nil && fixed[axis] >= 0 {
				longest = fixed[axis]
			}
			if n != longest {
				return nil, fmt.Errorf("tensor %s: rows of %d along axis %d, expected %d", k, n, axis, longest)
			}
		}
	}
	return found, nil
}

// firsts returns the sequences in the order of their first rows.
func firsts(rows []*chunkRow) (order []int) {
	for _, row := range rows {
		if !slices.Contains(order, row.sequence) {
			order = append(order, row.sequence)
		}
	}
	return order
}

// part returns the part of the ordered sequences that an epoch takes.
func (r *chunkRun) part(e int) (begin, end int) {
	parts := max(r.p.Partition, 1)
	small, more := len(r.lengths)/parts, len(r.lengths)%parts
	i := e % parts
	begin = i*small + min(i, more)
	if end = begin + small; i < more {
		end++
	}
	return begin, end
}

// order returns the order of all sequences, nil if it is random.
func (r *chunkRun) order() []int {
	order := make([]int, len(r.lengths))
	for i := range order {
		order[i] = i
	}
	switch r.p.Ordering {
	case "", "default":
	case "reverse":
		slices.Reverse(order)
	case "sorted":
		sort.SliceStable(order, func(i, j int) bool { return r.lengths[order[i]] < r.lengths[order[j]] })
	case "sorted_reverse":
		sort.SliceStable(order, func(i, j int) bool { return r.lengths[order[i]] > r.lengths[order[j]] })
	default:
		return nil
	}
	return order
}

// orderOf returns the sequences of an epoch before they are shuffled, nil if
// they are in random order.
func (r *chunkRun) orderOf(e int) []int {
	order := r.order()
	if order == nil {
		return nil
	}
	begin, end := r.part(e)
	return order[begin:end]
}

// sequencesOf returns the number of sequences with rows in an epoch.
func (r *chunkRun) sequencesOf(e int) (n int) {
	if known := r.orderOf(e); known != nil || r.p.Partition <= 1 {
		for s, rows := range r.counts {
			if rows > 0 && (known == nil || slices.Contains(known, s)) {
				n++
			}
		}
		return n
	}
	begin, end := r.part(e)
	return end - begin
}

// checkPasses checks rules that involve all epochs.
func (r *chunkRun) checkPasses(passes []*chunkPass) error {
	parts := max(r.p.Partition, 1)
	var orders [][]*chunkRow // order of each pass over all data
	for i := 0; i < len(passes); i += parts {
		var rows []*chunkRow
		whole := i+parts <= len(passes)
		for _, pass := range passes[i:min(i+parts, len(passes))] {
			rows = append(rows, pass.rows...)
			whole = whole && pass.whole
		}
		seen := map[*chunkRow]bool{}
		for _, row := range rows {
			if seen[row] {
				return fmt.Errorf("%v comes in two of %d epochs, which take each sequence once", row, parts)
			}
			seen[row] = true
		}
		if whole {
			if err := r.checkLaplace(firsts(rows)); err != nil {
				return err
			}
			orders = append(orders, rows)
		}
	}
	if r.p.Shuffled && len(orders) > 0 && slices.Equal(orders[0], r.rows) {
		return fmt.Errorf("the rows come in their plain order although they should be shuffled")
	}
	same := func(o []*chunkRow) bool { return slices.Equal(o, orders[0]) }
	if r.p.EpochsDiffer && !slices.ContainsFunc(orders, func(o []*chunkRow) bool { return !same(o) }) {
		return fmt.Errorf("every epoch has the same order")
	}
	return nil
}

// checkLaplace checks that the bins of a laplace order are sorted.
func (r *chunkRun) checkLaplace(order []int) error {
	kind, number, given := strings.Cut(r.p.Ordering, ":")
	n := len(order)
	if kind != "laplace" || n < len(r.lengths) || r.p.ShuffleSeqs > 1 || r.p.ShuffleChunks > 1 {
		return nil
	}
	bins := 2
	if given {
		digits, perBin := strings.CutPrefix(number, ".")
		var err error
		if bins, err = strconv.Atoi(digits); err != nil {
			return err
		}
		if perBin {
			bins = max(n/bins, 2)
		}
	}
	for b := range bins {
		var lengths []int
		for _, s := range order[b*n/bins : (b+1)*n/bins] {
			lengths = append(lengths, r.lengths[s])
		}
		if b%2 == 1 {
			slices.Reverse(lengths)
		}
		if !slices.IsSorted(lengths) {
			return fmt.Errorf("bin %d of %d is not sorted", b, bins)
		}
	}
	return nil
}
