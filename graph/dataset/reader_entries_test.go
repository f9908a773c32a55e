package dataset_test

import (
	"context"
	"encoding/binary"
	"io"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
)

// entry is a record of a key and a number.
type entry struct {
	Key   string `tf:"key"`
	Value int64  `tf:"value"`
}

// entryFile returns a file of records: the length of the key in a byte, the key, and the number in
// eight bytes.
func entryFile(records ...entry) []byte {
	var file []byte
	for _, r := range records {
		file = append(append(file, byte(len(r.Key))), r.Key...)
		file = binary.LittleEndian.AppendUint64(file, uint64(r.Value))
	}
	return file
}

// entryReader reads an entryFile. Its position is an offset.
type entryReader struct {
	file   []byte
	offset int
}

func (r *entryReader) Next() (p entry, err error) {
	if r.offset == len(r.file) {
		return p, io.EOF
	}
	key := r.offset + 1
	end := key + int(r.file[r.offset])
	if end+8 > len(r.file) {
		return p, io.ErrUnexpectedEOF
	}
	p = entry{string(r.file[key:end]), int64(binary.LittleEndian.Uint64(r.file[end:]))}
	r.offset = end + 8
	return p, nil
}

func (r *entryReader) State() ([]byte, error) {
	return strconv.AppendInt(nil, int64(r.offset), 10), nil
}
func (r *entryReader) Close() error { return nil }

// The records of a format in Go may have components of several types, and an iterator
// over them continues at the position of a saved one.
func TestReaderOfEntries(t *testing.T) {
	want := []entry{{"a", 1}, {"", -2}, {"a longer key", 1 << 62}}
	build := func(s *graph.Scope) *dataset.Dataset {
		return dataset.FromReader(s, func(_ context.Context, state []byte) (dataset.Reader[entry], error) {
			r := &entryReader{file: entryFile(want...)}
			if state == nil {
				return r, nil
			}
			var err error
			r.offset, err = strconv.Atoi(string(state))
			return r, err
		}, &dataset.ReaderOptions{Chunk: 1})
	}
	d := build(newScope(t))
	if got := d.Spec().String(); got != "{key: string[], value: int64[]}" {
		t.Errorf("elements are %s", got)
	}
	if diff := cmp.Diff(want, collect[entry](t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	first, second := start(t, build), start(t, build)
	whole := start(t, build).parts(100)
	first.parts(1)
	state, err := first.it.SaveState(t.Context(), first.sess)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.it.RestoreState(t.Context(), second.sess, state); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole[1:], second.parts(100)); diff != "" || len(whole) != len(want) {
		t.Errorf("the rest of %d elements (-want +got)\n%s", len(whole), diff)
	}
}
