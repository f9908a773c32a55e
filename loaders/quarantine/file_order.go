package quarantine

import "sort"

// FileOrder computes the positions of rows where the good records of all files come in
// the order of the files, epoch after epoch. Its methods must not be called
// concurrently.
type FileOrder struct {
	list   *List
	before []int64 // records before each file, and the total
	left   []int64 // positions in an epoch of the records that were left out, ascending
	listed int     // number of records of the list that left covers
}

// InFileOrder returns the positions of rows, where the records of the list are left
// out. before has the number of records before each file, and the total.
func (l *List) InFileOrder(before []int64) *FileOrder {
	return &FileOrder{list: l, before: before}
}

// Position returns the position of the record of a row. Both count from 0 through all
// epochs; positions count records that were left out as well. The run must have read that
// record, so that the list has all bad ones before it.
func (f *FileOrder) Position(row int64) int64 {
	f.update()
	records := f.before[len(f.before)-1]
	good := max(records-int64(len(f.left)), 1)
	epoch, at := row/good, row%good
	// There are left[i] - i good records before position left[i].
	n := sort.Search(len(f.left), func(i int) bool { return f.left[i]-int64(i) > at })
	return epoch*records + at + int64(n)
}

// update adds the records that were left out since the last call.
func (f *FileOrder) update() {
	if f.list.Len() == f.listed {
		return
	}
	left := f.list.Locations()
	f.left, f.listed = f.left[:0], len(left)
	for _, p := range left {
		if at := f.before[p.File] + p.Record; at < f.before[p.File+1] { // else nobody counted it
			f.left = append(f.left, at)
		}
	}
}
