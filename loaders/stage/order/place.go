package order

import (
	"fmt"
	"strings"

	"millrace/loaders/scan"
	"millrace/loaders/spec"
)

// maxPlaces is how many files a place names.
const maxPlaces = 4

// Place describes for a person which records the given rows of a run are: files, and
// indices of records from 0. The first row of a run has index 0. The rows of the plan must
// be records, not windows. Place returns "" if rows are shuffled, put into buckets or read
// by their location, and if a file's records were not counted.
func Place(s *spec.Spec, found *scan.Scan, first, rows int64) string {
	records, known := found.Records()
	if !known || records == 0 || s.Shuffle != nil || s.Records != nil || s.Bucket != nil || s.Special != nil {
		return ""
	}
	var places []string
	first %= records // the same files are read again in each epoch
	for file := 0; rows > 0; file = (file + 1) % len(s.Files) {
		n := found.Count(file)
		if first >= n {
			first -= n
			continue
		}
		here := min(rows, n-first)
		if len(places) == maxPlaces {
			return strings.Join(places, ", ") + " and more files"
		}
		places = append(places, fmt.Sprintf("%s records %d to %d", spec.PrintablePath(s.Files[file].Path), first, first+here-1))
		first, rows = 0, rows-here
	}
	return strings.Join(places, ", ")
}
