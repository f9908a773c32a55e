package jsonpos

import "slices"

// position returns line and column of an offset. It finds the starts of the
// lines once for all nodes, because a document may have many problems.
func (t *tree) position(offset int) (line, column int) {
	t.once.Do(func() {
		t.lines = []int32{0}
		for i, c := range t.src {
			if c == '\n' {
				t.lines = append(t.lines, int32(i+1))
			}
		}
	})
	i, found := slices.BinarySearch(t.lines, int32(offset))
	if !found {
		i--
	}
	return i + 1, offset - int(t.lines[i]) + 1
}
