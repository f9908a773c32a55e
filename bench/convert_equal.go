package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// sameRecords returns an error unless the files of each pattern hold want Examples with the
// same values in the same order. The bytes may differ: features have no order.
func sameRecords(want int64, patterns ...string) error {
	var first string
	for i, pattern := range patterns {
		n, digest, err := digestOf(pattern)
		if err != nil {
			return err
		}
		if n != want {
			return fmt.Errorf("%s has %d records, want %d", pattern, n, want)
		}
		if i == 0 {
			first = digest
		}
		if digest != first {
			return fmt.Errorf("the records of %s have other values than those of %s", pattern, patterns[0])
		}
	}
	return nil
}

// digestOf counts the Examples of files and returns a digest of all their values.
func digestOf(pattern string) (n int64, digest string, err error) {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return 0, "", err
	}
	sum := sha256.New()
	var b []byte
	for _, path := range paths {
		for record, err := range tfrecord.Records(path, nil) {
			if err != nil {
				return 0, "", err
			}
			if b, err = appendValues(b[:0], record.Data); err != nil {
				return 0, "", fmt.Errorf("%s: record %d: %w", path, record.Ordinal, err)
			}
			sum.Write(b)
			n++
		}
	}
	return n, fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// appendValues appends the features of an Example in the order of their names: the name, the
// kind, the number of values, the values.
func appendValues(b, record []byte) ([]byte, error) {
	parsed, err := example.Parse(record)
	if err != nil {
		return nil, err
	}
	names := parsed.Names()
	slices.Sort(names)
	for _, name := range names {
		f, err := parsed.Get(name)
		if err != nil {
			return nil, err
		}
		b = appendText(b, []byte(name))
		b = append(b, byte(f.Kind))
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Len()))
		for _, v := range f.Bytes {
			b = appendText(b, v)
		}
		for _, v := range f.Floats {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		for _, v := range f.Ints {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
	}
	return b, nil
}

// appendText appends a text and its length.
func appendText(b, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
}
