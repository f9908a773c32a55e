// Package scan holds the result of looking at the data files of a config. It needs no
// TensorFlow.
package scan

import (
	"crypto/sha256"
	"fmt"

	"millrace/tfrecord"
)

// Scan is the result of looking at every data file before the first batch: the number
// of its records, and that no header in it claims more than the file holds.
type Scan struct {
	Indexes []*tfrecord.Index // one index a file of the plan; nil for a remote one

	// Lengths are the numbers of frames of all sequences, in the order of the data,
	// where a chunked_sequence orders sequences by length; otherwise nil.
	Lengths []int32

	MixtureSize int64 // examples of an epoch of a mixture

	Warnings []error // about existing index files that are not used
}

// Records returns the number of records of one pass, and whether every file
// was counted.
func (s *Scan) Records() (n int64, known bool) {
	for _, index := range s.Indexes {
		if index == nil {
			return 0, false
		}
		n += index.Records
	}
	return n, true
}

// Bytes returns the size of all counted records.
func (s *Scan) Bytes() (n int64) {
	for _, index := range s.Indexes {
		if index != nil {
			n += index.DataBytes
		}
	}
	return n
}

// Count returns the records of one file, -1 if they were not counted.
func (s *Scan) Count(file int) int64 {
	if index := s.Indexes[file]; index != nil {
		return index.Records
	}
	return -1
}

// Largest returns the size of the largest record, -1 if not all were counted.
func (s *Scan) Largest() (n int64) {
	for _, index := range s.Indexes {
		if index == nil {
			return -1
		}
		n = max(n, index.MaxRecord)
	}
	return n
}

// Digest identifies the data of the counted files: if the plan seeks, reads records by
// their positions, leaves bad ones out or has DigestRecords, then other records, or the
// same ones in another order, have another digest. For other plans the digest depends
// only on the numbers of records. A file that was not counted has the same digest
// whatever it holds.
func (s *Scan) Digest() string {
	digest := sha256.New()
	for _, index := range s.Indexes {
		if index == nil {
			fmt.Fprintln(digest, "unknown")
			continue
		}
		fmt.Fprintf(digest, "%d %x\n", index.Records, index.Digest)
	}
	return fmt.Sprintf("%x", digest.Sum(nil))
}

// Changed returns an error if a file is no longer the one that was scanned.
func (s *Scan) Changed() error {
	for _, index := range s.Indexes {
		if index == nil {
			continue
		}
		if err := index.Changed(); err != nil {
			return err
		}
	}
	return nil
}
