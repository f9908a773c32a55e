package cases

import (
	"fmt"
	"slices"
	"strings"
)

// rowTensor is the part of a tensor along one position of the batch axis.
type rowTensor struct {
	dtype  string
	shape  []int
	values []any
}

// row is one example of a batch by tensor name.
type row map[string]rowTensor

// rows cuts a tensor along its first axis.
func (t *tensor) rows() []rowTensor {
	n := size(t.shape[1:])
	out := make([]rowTensor, t.shape[0])
	for i := range out {
		out[i] = rowTensor{t.dtype, t.shape[1:], t.values[i*n : (i+1)*n]}
	}
	return out
}

// key returns a text that is the same for two rows if and only if the rows are
// equal.
func (r row) key() string {
	var b strings.Builder
	for _, k := range names(r) {
		fmt.Fprintf(&b, "%q %s %v %#v;", k, r[k].dtype, r[k].shape, r[k].values)
	}
	return b.String()
}

func keys(rows []row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.key()
	}
	return out
}

// allRows returns the rows of all batches and the size of each batch.
func allRows(batches []batch, what string) ([]row, []int, error) {
	var rows []row
	var sizes []int
	for i, b := range batches {
		n, err := b.size()
		if err != nil {
			return nil, nil, fmt.Errorf("%s batch %d: %w", what, i, err)
		}
		sizes = append(sizes, n)
		split := make(map[string][]rowTensor, len(b))
		for k, t := range b {
			split[k] = t.rows()
		}
		for j := range n {
			r := make(row, len(b))
			for k := range b {
				r[k] = split[k][j]
			}
			rows = append(rows, r)
		}
	}
	return rows, sizes, nil
}

// size returns the batch dimension that all tensors share.
func (b batch) size() (int, error) {
	n := -1
	for _, k := range names(b) {
		shape := b[k].shape
		if len(shape) == 0 || (n >= 0 && shape[0] != n) {
			return 0, fmt.Errorf("tensors do not share one batch dimension: %s has shape %v", k, shape)
		}
		n = shape[0]
	}
	return n, nil
}

// compareMultiset compares shuffled rows: c.Batches is one epoch in file
// order, and each epoch of the output must hold the same rows in any order.
func compareMultiset(c *Case, actual []batch) error {
	expected, err := readBatches(c.Batches, "expected")
	if err != nil {
		return err
	}
	epoch, _, err := allRows(expected, "expected")
	if err != nil {
		return err
	}
	rows, sizes, err := allRows(actual, "actual")
	if err != nil {
		return err
	}
	p := &c.Properties
	if !slices.Equal(sizes, p.BatchSizes) {
		return fmt.Errorf("batch sizes: expected %v, got %v", p.BatchSizes, sizes)
	}
	seen, err := epochs(keys(epoch), keys(rows))
	if err != nil {
		return err
	}
	if p.Shuffled && slices.Equal(seen[0], keys(epoch)) {
		return fmt.Errorf("the rows come in file order although they should be shuffled")
	}
	same := func(s []string) bool { return slices.Equal(s, seen[0]) }
	if p.EpochsDiffer && !slices.ContainsFunc(seen, func(s []string) bool { return !same(s) }) {
		return fmt.Errorf("every epoch has the same order")
	}
	if p.FileKey == "" {
		return nil
	}
	return compareFiles(p, epoch, rows)
}

// epochs splits got into runs of the length of want, checks that each has the rows of
// want in any order (the last run may be shorter), and returns the complete ones.
func epochs(want, got []string) ([][]string, error) {
	count := func(rows []string) map[string]int {
		n := make(map[string]int)
		for _, r := range rows {
			n[r]++
		}
		return n
	}
	wanted, n := count(want), max(1, len(want))
	var seen [][]string
	for start := 0; start < len(got); start += n {
		part := got[start:min(start+n, len(got))]
		have := count(part)
		for _, r := range part {
			if have[r] > wanted[r] {
				return nil, fmt.Errorf("rows %d to %d (one pass over the data): row %s occurs %d times, expected %d",
					start, start+len(part)-1, show(r), have[r], wanted[r])
			}
		}
		if len(part) == n {
			// The number of rows is right and no row occurs too often, so the rows are
			// the same.
			seen = append(seen, part)
		}
	}
	if len(seen) == 0 {
		seen = append(seen, nil)
	}
	return seen, nil
}

// compareFiles checks the order of the files in the first epoch.
func compareFiles(p *Properties, epoch, rows []row) error {
	files := func(rows []row) []any {
		out := make([]any, len(rows))
		for i, r := range rows {
			out[i] = r[p.FileKey].values[0]
		}
		return out
	}
	order := slices.Compact(files(rows[:min(len(epoch), len(rows))]))
	distinct := make(map[any]bool)
	for _, f := range order {
		distinct[f] = true
	}
	if p.FilesContiguous && len(order) != len(distinct) {
		return fmt.Errorf("the records of a file are not contiguous: files come as %v", order)
	}
	if p.FileOrderDiffers && slices.Equal(order, slices.Compact(files(epoch))) {
		return fmt.Errorf("the files come in their sorted order although their names should be shuffled")
	}
	if p.MixedWithin == nil {
		return nil
	}
	mixed := make(map[any]bool)
	for _, f := range files(rows[:min(p.MixedWithin.Rows, len(rows))]) {
		mixed[f] = true
	}
	if len(mixed) < p.MixedWithin.Files {
		return fmt.Errorf("the first %d rows come from %d files, expected at least %d", p.MixedWithin.Rows, len(mixed), p.MixedWithin.Files)
	}
	return nil
}
