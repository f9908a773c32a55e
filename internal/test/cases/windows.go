package cases

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// unit is the smallest part of a window, as rows by tensor name: an element
// (continuous_sequence) or a record (discrete_sequence).
type unit map[string][]rowTensor

// sourceFile is the data of one file, cut into units.
type sourceFile struct {
	units []unit
	elem  row // dtype and shape of one row of each tensor
	key   string
}

// spot is the location of a window: its file, its first unit, its number of units.
type spot struct{ file, start, count int }

func readSource(p *Properties, records []json.RawMessage, where string) (*sourceFile, error) {
	s := &sourceFile{key: p.Key, elem: make(row)}
	for _, raw := range records {
		b, err := readBatch(raw, where)
		if err != nil {
			return nil, err
		}
		whole := make(unit, len(b))
		for k, t := range b {
			whole[k] = t.rows()
			s.elem[k] = rowTensor{dtype: t.dtype, shape: t.shape[1:]}
		}
		if p.Loader != "continuous_sequence" {
			s.units = append(s.units, whole)
			continue
		}
		for j := range whole[p.Key] {
			u := make(unit, len(whole))
			for k := range whole {
				u[k] = whole[k][j : j+1]
			}
			s.units = append(s.units, u)
		}
	}
	return s, nil
}

// find returns the number of units from start on that contain exactly n elements
// together, 0 if there is no such number.
func (s *sourceFile) find(n, start int) int {
	total := 0
	for i := start; i < len(s.units); i++ {
		total += len(s.units[i][s.key])
		if total >= n {
			if total > n {
				return 0
			}
			return i - start + 1
		}
	}
	return 0
}

// windows is the state of a comparison of random windows.
type windows struct {
	p        *Properties
	files    []*sourceFile
	index    map[any]spot // key: the unique first number of a unit; count is unused
	found    []spot
	leftOver bool          // a file had enough units for one more window
	ends     map[spot]bool // windows that stopped at the end of a file: their length may be cut
}

// compareWindows checks the rules that random windows obey.
func compareWindows(c *Case, actual []batch) error {
	w := &windows{p: &c.Properties, index: make(map[any]spot), ends: make(map[spot]bool)}
	for i, f := range w.p.Files {
		s, err := readSource(w.p, f.Records, fmt.Sprintf("file %d", i))
		if err != nil {
			return err
		}
		for j, u := range s.units {
			if rows := u[w.p.Key]; len(rows) > 0 {
				w.index[rows[0].values[0]] = spot{file: i, start: j}
			}
		}
		w.files = append(w.files, s)
	}
	if err := w.locateAll(actual); err != nil {
		return err
	}
	if err := w.walkAll(); err != nil {
		return err
	}
	if w.p.LeavesTail && !w.leftOver {
		return fmt.Errorf("every file ends with a window cut short to what was left, although tail is drop")
	}
	return w.checkShares()
}

// locateAll finds every row in the files and checks the batches' sizes.
func (w *windows) locateAll(actual []batch) error {
	rows, sizes, err := allRows(actual, "actual")
	if err != nil {
		return err
	}
	for i, n := range sizes {
		last := i == len(sizes)-1
		if (!last && n != w.p.BatchSize) || n < 1 || n > w.p.BatchSize {
			return fmt.Errorf("batch sizes %v with a target of %d", sizes, w.p.BatchSize)
		}
	}
	if w.p.Take != nil && len(sizes) != *w.p.Take {
		return fmt.Errorf("expected %d batches, got %d", *w.p.Take, len(sizes))
	}
	for b, n := range sizes {
		longest := make(map[string]int)
		for j, r := range rows[:n] {
			at, lengths, err := w.locate(r)
			if err != nil {
				return fmt.Errorf("batch %d row %d: %w", b, j, err)
			}
			w.found = append(w.found, at)
			for k, l := range lengths {
				longest[k] = max(longest[k], l)
			}
		}
		for k, t := range rows[0] {
			if t.shape[0] != longest[k] {
				return fmt.Errorf("batch %d tensor %s: padded to %d, the batch maximum is %d", b, k, t.shape[0], longest[k])
			}
		}
		rows = rows[n:]
	}
	return nil
}

// locate finds the window r in its file and compares every tensor. It returns
// the length of each tensor without padding.
func (w *windows) locate(r row) (spot, map[string]int, error) {
	fail := func(format string, args ...any) (spot, map[string]int, error) {
		return spot{}, nil, fmt.Errorf(format, args...)
	}
	t, ok := r[w.p.Key]
	if !ok {
		return fail("no tensor %s", w.p.Key)
	}
	n := len(t.values)
	for w.p.Padded && n > 0 && isZero(t.values[n-1]) {
		n--
	}
	if n == 0 {
		return fail("an empty window")
	}
	at, ok := w.index[t.values[0]]
	if !ok {
		return fail("%s starts with %s, where no unit of any file starts", w.p.Key, show(t.values[0]))
	}
	file := w.files[at.file]
	at.count = file.find(n, at.start)
	if at.count == 0 {
		return fail("%d elements from unit %d of file %d on do not end at a boundary of that file", n, at.start, at.file)
	}
	if got, want := names(r), names(file.elem); !slices.Equal(got, want) {
		return fail("expected tensors %q, got %q", want, got)
	}
	lengths := make(map[string]int, len(r))
	for k, t := range r {
		l, err := w.sameWindow(k, t, file, at)
		if err != nil {
			return spot{}, nil, fmt.Errorf("tensor %s: %w", k, err)
		}
		lengths[k] = l
	}
	return at, lengths, nil
}

// sameWindow compares one tensor of a window and returns its length without
// padding.
func (w *windows) sameWindow(name string, t rowTensor, file *sourceFile, at spot) (int, error) {
	elem, length := file.elem[name], 0
	var want []any
	for _, u := range file.units[at.start : at.start+at.count] {
		length += len(u[name])
		for _, part := range u[name] {
			want = append(want, part.values...)
		}
	}
	if t.dtype != elem.dtype {
		return 0, fmt.Errorf("expected dtype %s, got %s", elem.dtype, t.dtype)
	}
	longer := w.p.Padded && len(t.shape) > 0 && t.shape[0] > length
	if len(t.shape) == 0 || !slices.Equal(t.shape[1:], elem.shape) || (t.shape[0] != length && !longer) {
		return 0, fmt.Errorf("expected shape %v, got %v", append([]int{length}, elem.shape...), t.shape)
	}
	for len(want) < len(t.values) {
		want = append(want, zero(t.dtype))
	}
	for j, v := range t.values {
		if want[j] != v {
			return 0, fmt.Errorf("value %d: expected %s, got %s", j, show(want[j]), show(v))
		}
	}
	return length, nil
}

// walkAll follows the windows of each file, in each epoch.
func (w *windows) walkAll() error {
	if w.p.Order == "any" {
		return w.walkUnordered()
	}
	i := 0
	for pass := 0; w.p.Epochs == nil || pass < *w.p.Epochs; pass++ {
		if w.p.Take != nil && i >= len(w.found) {
			break
		}
		for f := range w.files {
			var err error
			if i, err = w.walk(w.found, f, i, w.p.Take != nil); err != nil {
				return err
			}
		}
	}
	if i < len(w.found) {
		return fmt.Errorf("%d windows after the last epoch, the first of them at %v", len(w.found)-i, w.found[i])
	}
	return nil
}

// walkUnordered follows the windows of one epoch in any order.
func (w *windows) walkUnordered() error {
	for f := range w.files {
		var spots []spot
		for _, s := range w.found {
			if s.file == f {
				spots = append(spots, s)
			}
		}
		slices.SortFunc(spots, func(a, b spot) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.count, b.count))
		})
		i, err := w.walk(spots, f, 0, false)
		if err != nil {
			return err
		}
		if i < len(spots) {
			return fmt.Errorf("file %d: %d more windows than its data holds, the first at unit %d", f, len(spots)-i, spots[i].start)
		}
	}
	return nil
}

// walk follows the windows of file f from spots[i] on and returns the index
// after the last. With cut, the output may end anywhere.
func (w *windows) walk(spots []spot, f, i int, cut bool) (int, error) {
	start, total := 0, len(w.files[f].units)
	for total-start >= w.p.MinWindow {
		here := i < len(spots) && spots[i].file == f && spots[i].start == start
		// With "tail": "drop", a window longer than the rest of the file is
		// dropped.
		if w.p.Tail == "drop" && total-start < w.p.MaxWindow && !here {
			w.leftOver = true
			return i, nil
		}
		if i == len(spots) {
			if cut {
				return i, nil
			}
			return i, fmt.Errorf("file %d: no window starts at unit %d, although %d units are left", f, start, total-start)
		}
		s := spots[i]
		if !here {
			return i, fmt.Errorf("window %d: expected to start at unit %d of file %d, got unit %d of file %d", i, start, f, s.start, s.file)
		}
		follower := -1
		if i+1 < len(spots) && spots[i+1].file == f {
			follower = spots[i+1].start
		}
		if total-start == s.count {
			w.ends[s] = true
		}
		var err error
		if start, err = w.next(s, total, follower); err != nil {
			return i, fmt.Errorf("window %d (file %d from unit %d on): %w", i, f, s.start, err)
		}
		i++
	}
	return i, nil
}

// next returns the start of the window after s in a file of total units.
// follower is the start of the next window in the output, -1 if that window is
// in another file.
func (w *windows) next(s spot, total, follower int) (int, error) {
	left := total - s.start
	if s.count < w.p.MinWindow || s.count > w.p.MaxWindow {
		return 0, fmt.Errorf("a window of %d units, expected %d to %d", s.count, w.p.MinWindow, w.p.MaxWindow)
	}
	after := s.start + s.count
	if w.p.Stride != nil {
		after = s.start + *w.p.Stride
	}
	if s.count == left && s.count < w.p.MaxWindow && after != follower && w.p.Tail != "drop" {
		return total, nil // may have been the short last window of the file
	}
	return after, nil
}

// checkShares checks that every size of window occurs often enough.
func (w *windows) checkShares() error {
	if w.p.MinShare == nil {
		return nil
	}
	counts, total := make(map[int]int), 0
	for _, s := range w.found {
		if !w.ends[s] {
			counts[s.count]++
			total++
		}
	}
	for n := w.p.MinWindow; n <= w.p.MaxWindow; n++ {
		if float64(counts[n]) < *w.p.MinShare*float64(total) {
			return fmt.Errorf("%d of %d windows have %d units; every size from %d to %d should be about equally frequent",
				counts[n], total, n, w.p.MinWindow, w.p.MaxWindow)
		}
	}
	return nil
}
