package native

import (
	"millrace"
	"millrace/graph"
)

// Skip is a record that an operation skips, because it was found bad before the graph runs.
type Skip struct {
	File   int64 // index in the list of files
	Record int64 // index in the file
	Next   int64 // offset of the next record in the decompressed bytes of the file; -1: the rest of the file is skipped as well
}

// addSkips adds the records to skip to the attributes of an operation, which takes them
// sorted by file and record. A check finds the bad records itself.
func addSkips(s *graph.Scope, op string, skip []Skip, check Check, to attrs) {
	if len(skip) == 0 {
		return
	}
	if check != nil {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "records to skip and a check of records exclude each other"))
		return
	}
	numbers := make([]int64, 0, 3*len(skip))
	for _, r := range skip {
		numbers = append(numbers, r.File, r.Record, r.Next)
	}
	to["skipped"] = numbers
}
