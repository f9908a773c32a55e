package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/modelfile"
	"millrace/sigdef"
)

// Field numbers of BundleHeaderProto and BundleEntryProto.
const (
	headerShards, headerEndian = 1, 2

	entryType, entryShape, entryShard, entryOffset, entrySize, entryCRC, entrySlice = 1, 2, 3, 4, 5, 6, 7
)

// ObjectGraphKey is the entry of a checkpoint that holds the graph of Python's objects,
// a serialized TrackableObjectGraph. It is not a variable.
const ObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH"

// maxShards is the largest number of data files.
const maxShards = 1 << 16

// Variable is a tensor that a model restores.
type Variable struct {
	dtype.TensorSpec
	Bytes int64 // size on disk
}

// Index is the index of a model's variables.
type Index struct {
	Data    []byte // variables.index
	Prefix  string // name prefix of the files, in their folder
	Shards  int32
	Entries []Entry

	unlisted int // entries that no variable has listed as a slice so far
}

// Entry is the location of a tensor's bytes.
type Entry struct {
	Variable
	shard  int32
	offset int64
	crc    uint32
	sliced bool // the bytes are in other entries
	slices [][]byte
}

// Variables returns the entries that hold a variable's value.
func (b *Index) Variables() []Variable {
	var variables []Variable
	for _, e := range b.Entries {
		if e.Name != ObjectGraphKey && !strings.HasPrefix(e.Name, slicePrefix) {
			variables = append(variables, e.Variable)
		}
	}
	return variables
}

// Read reads the index of the variables.
func Read(name string, data []byte) (*Index, error) {
	if len(data) == 0 {
		e := modelfile.Fail(name, "the file is empty")
		e.Err = millrace.ErrTruncated
		return nil, e
	}
	entries, err := readTable(name, data)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 || entries[0].key != "" {
		return nil, modelfile.Corrupt(name, "it is damaged: it has no header")
	}
	b := &Index{unlisted: len(entries)}
	if err := b.parseHeader(name, entries[0].value); err != nil {
		return nil, err
	}
	for _, e := range entries[1:] {
		entry, err := b.parseEntry(name, e)
		if err != nil {
			return nil, err
		}
		b.Entries = append(b.Entries, entry)
	}
	return b, b.checkSlices(name)
}

// corruptEntry returns the error about a damaged entry.
func corruptEntry(name, key, format string, args ...any) error {
	e := modelfile.Corrupt(name, "it is damaged: "+format, args...)
	e.Tensor = key
	return e
}

// parseHeader reads the BundleHeaderProto.
func (b *Index) parseHeader(name string, data []byte) error {
	var walk message.Checker
	if err := walk.Whole(data, message.BundleHeaderType()); err != nil {
		return modelfile.Corrupt(name, "it is damaged: the header: %v", err)
	}
	for f := range wire.Fields(data) {
		switch f.Num {
		case headerShards:
			b.Shards = int32(f.Number)
		case headerEndian:
			if f.Number != 0 {
				return modelfile.Fail(name, "the variables were written on a big-endian machine, which is not supported")
			}
		}
	}
	if b.Shards < 0 || b.Shards > maxShards {
		return modelfile.Corrupt(name, "it is damaged: %d shards", b.Shards)
	}
	return nil
}

// parseEntry reads a BundleEntryProto.
func (b *Index) parseEntry(name string, te tableEntry) (Entry, error) {
	fail := func(format string, args ...any) error { return corruptEntry(name, te.key, format, args...) }
	e := Entry{Variable: Variable{TensorSpec: dtype.TensorSpec{Name: te.key, Shape: dtype.ScalarShape()}}}
	var walk message.Checker
	if err := walk.Whole(te.value, message.BundleEntryType()); err != nil {
		return e, fail("%v", err)
	}
	for f := range wire.Fields(te.value) {
		switch f.Num {
		case entryType:
			e.DType = dtype.DataType(int32(f.Number))
		case entryShape:
			e.Shape = sigdef.ParseShape(f.Bytes)
		case entryShard:
			e.shard = int32(f.Number)
		case entryOffset:
			e.offset = int64(f.Number)
		case entrySize:
			e.Bytes = int64(f.Number)
		case entryCRC:
			e.crc = uint32(f.Number)
		case entrySlice:
			// Two bytes may list a slice, and a compressed index may have as many as fill the memory.
			if b.unlisted--; b.unlisted < 0 {
				return e, fail("the variables up to this one list more slices than the index has entries")
			}
			e.sliced, e.slices = true, append(e.slices, f.Bytes)
		}
	}
	if n := len(e.Shape.Dims()); n > maxDims {
		return e, fail("it has %d dimensions, at most %d are allowed", n, maxDims)
	}
	if e.sliced {
		return e, e.checkWhole(fail)
	}
	if e.shard < 0 || e.shard >= b.Shards {
		return e, fail("it is in shard %d of %d", e.shard, b.Shards)
	}
	if e.offset < 0 || e.Bytes < 0 || e.offset > math.MaxInt64-e.Bytes {
		return e, fail("%d bytes at offset %d", e.Bytes, e.offset)
	}
	if want, ok := e.bytes(); !ok || (want >= 0 && want != e.Bytes) {
		return e, fail("%d bytes do not hold a tensor of %v", e.Bytes, e.TensorSpec)
	}
	return e, nil
}

// maxDims is the most dimensions of a variable. TensorFlow's tensors have at most 254, and operations that
// add dimensions end the process beyond that.
const maxDims = 128

// checkWhole checks the shape of a variable in slices.
func (e *Entry) checkWhole(fail func(format string, args ...any) error) error {
	if _, _, err := dtype.ByteSize(e.DType.Base(), e.Shape.Dims()); err != nil || e.Shape.Dims() == nil {
		return fail("there is no tensor of %v", e.TensorSpec)
	}
	return nil
}

// checkSlices checks the slices of all variables, whose entries are in order.
func (b *Index) checkSlices(name string) error {
	for i := range b.Entries {
		e := &b.Entries[i]
		if !e.sliced {
			continue
		}
		if problem := b.problemOfSlices(e); problem != "" {
			return corruptEntry(name, e.Name, "its slices: %s", problem)
		}
	}
	return nil
}

// problemOfSlices says what is wrong with the slices of a variable, "" if nothing is.
func (b *Index) problemOfSlices(e *Entry) string {
	if len(e.slices) > maxSlices {
		return "there are too many"
	}
	dims := e.Shape.Dims()
	for _, s := range e.slices {
		extents := parseSlice(s)
		if !fits(extents, dims) {
			return "one does not fit the variable's shape"
		}
		at, found := slices.BinarySearchFunc(b.Entries, sliceKey(e.Name, extents), func(e Entry, key string) int { return cmp.Compare(e.Name, key) })
		switch {
		case !found:
			return "one is missing from the index"
		case b.Entries[at].sliced || b.Entries[at].DType != e.DType || !slices.Equal(b.Entries[at].Shape.Dims(), sizes(extents, dims)):
			return "one has another type or shape than the variable says"
		}
	}
	return ""
}

// bytes returns the size of a tensor of the entry's type and shape, -1 if it
// depends on the values. ok is false for an impossible shape.
func (e *Entry) bytes() (size int64, ok bool) {
	d, dims := e.DType.Base(), e.Shape.Dims()
	n, bytes, err := dtype.ByteSize(d, dims)
	switch {
	case err != nil || dims == nil:
		return 0, false
	case !d.Known():
		return -1, true // a type of a newer TensorFlow
	case d.Size() == 0:
		return -1, n <= e.Bytes // an element takes at least one byte
	}
	return bytes, true
}

// ShardName returns the name of a data file.
func (b *Index) ShardName(shard int32) string {
	return fmt.Sprintf("%s.data-%05d-of-%05d", b.Prefix, shard, b.Shards)
}

// CheckShards checks every data file, one after the other.
func (b *Index) CheckShards(in *modelfile.Folder, sums bool) error {
	byShard := make(map[int32][]Entry)
	for _, e := range b.Entries {
		if !e.sliced {
			byShard[e.shard] = append(byShard[e.shard], e)
		}
	}
	for shard := range b.Shards {
		entries := byShard[shard]
		slices.SortFunc(entries, func(a, c Entry) int { return cmp.Compare(a.offset, c.offset) })
		if err := b.checkShard(in, shard, entries, sums); err != nil {
			return err
		}
	}
	return nil
}

// checkShard checks one data file: that it exists, is long enough for all of its
// tensors and, if sums is set, that their checksums match.
func (b *Index) checkShard(in *modelfile.Folder, shard int32, entries []Entry, sums bool) error {
	f := in.Open(b.ShardName(shard))
	if errors.Is(f.Err, fs.ErrNotExist) {
		e := modelfile.Fail(f.Name, "the file is missing: variables shard %d of %d", shard+1, b.Shards)
		e.Err = fs.ErrNotExist
		return e
	}
	if f.Err != nil {
		return f.Err
	}
	defer f.File.Close()
	want := int64(0)
	for _, e := range entries {
		want = max(want, e.offset+e.Bytes)
	}
	if f.Size < want {
		e := modelfile.Fail(f.Name, "variables shard %d of %d ends too early: %d bytes, want %d", shard+1, b.Shards, f.Size, want)
		e.Err = millrace.ErrTruncated
		return e
	}
	if !sums {
		return nil
	}
	return checkSums(f.File, f.Name, entries)
}

// CheckHas checks that every tensor that a graph restores is in the index.
func (b *Index) CheckHas(name string, restored []string) error {
	for _, want := range restored {
		_, found := slices.BinarySearchFunc(b.Entries, want, func(e Entry, n string) int { return cmp.Compare(e.Name, n) })
		if !found {
			e := modelfile.Fail(name, "the variable is missing from the index")
			e.Tensor = want
			return e
		}
	}
	return nil
}
