package savedmodel

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
	"millrace/savedmodel/sigdef"
)

// Field numbers of BundleHeaderProto and BundleEntryProto.
const (
	headerShards, headerEndian = 1, 2

	entryType, entryShape, entryShard, entryOffset, entrySize, entryCRC, entrySlice = 1, 2, 3, 4, 5, 6, 7
)

// ObjectGraphKey is the entry of a checkpoint that holds the graph of Python's
// objects, a serialized TrackableObjectGraph. It is no variable.
const ObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH"

const (
	MaxIndexBytes = 256 << 20 // of variables.index
	maxKeyBytes   = 1 << 16   // of a variable's name
	maxShards     = 1 << 16   // of a variables bundle
)

// slicePrefix begins the entries of the parts of a variable that was saved in
// slices.
const slicePrefix = "\x00"

// Variable is a tensor that a model restores.
type Variable struct {
	dtype.TensorSpec
	Bytes int64 // on disk
}

// bundle is the index of a model's variables.
type bundle struct {
	index   []byte // variables.index
	prefix  string // of the files, in their folder
	shards  int32
	entries []bundleEntry
}

// bundleEntry says where a tensor's bytes are.
type bundleEntry struct {
	Variable
	shard  int32
	offset int64
	crc    uint32
	sliced bool // the bytes are those of other entries
}

// variables returns the entries that hold a variable's value.
func (b *bundle) variables() []Variable {
	var variables []Variable
	for _, e := range b.entries {
		if e.Name != ObjectGraphKey && !strings.HasPrefix(e.Name, slicePrefix) {
			variables = append(variables, e.Variable)
		}
	}
	return variables
}

// readBundle reads the index of the variables.
func readBundle(name string, data []byte) (*bundle, error) {
	if len(data) == 0 {
		e := failAt(name, "the file is empty")
		e.Err = millrace.ErrTruncated
		return nil, e
	}
	entries, err := readTable(name, data)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 || entries[0].key != "" {
		return nil, corrupt(name, "it is damaged: it has no header")
	}
	b := &bundle{}
	if err := b.parseHeader(name, entries[0].value); err != nil {
		return nil, err
	}
	for _, e := range entries[1:] {
		entry, err := b.parseEntry(name, e)
		if err != nil {
			return nil, err
		}
		b.entries = append(b.entries, entry)
	}
	return b, nil
}

// parseHeader reads the BundleHeaderProto.
func (b *bundle) parseHeader(name string, data []byte) error {
	var walk wireCheck
	if err := walk.whole(data, bundleHeaderType()); err != nil {
		return corrupt(name, "it is damaged: the header: %v", err)
	}
	for f := range fieldsOf(data) {
		switch f.num {
		case headerShards:
			b.shards = int32(f.number)
		case headerEndian:
			if f.number != 0 {
				return failAt(name, "the variables were written on a big-endian machine, which is not supported")
			}
		}
	}
	if b.shards < 0 || b.shards > maxShards {
		return corrupt(name, "it is damaged: %d shards", b.shards)
	}
	return nil
}

// parseEntry reads a BundleEntryProto.
func (b *bundle) parseEntry(name string, te tableEntry) (bundleEntry, error) {
	fail := func(format string, args ...any) error {
		e := corrupt(name, "it is damaged: "+format, args...)
		e.Tensor = te.key
		return e
	}
	e := bundleEntry{Variable: Variable{TensorSpec: dtype.TensorSpec{Name: te.key, Shape: dtype.ScalarShape()}}}
	var walk wireCheck
	if err := walk.whole(te.value, bundleEntryType()); err != nil {
		return e, fail("%v", err)
	}
	for f := range fieldsOf(te.value) {
		switch f.num {
		case entryType:
			e.DType = dtype.DataType(int32(f.number))
		case entryShape:
			e.Shape = sigdef.ParseShape(f.bytes)
		case entryShard:
			e.shard = int32(f.number)
		case entryOffset:
			e.offset = int64(f.number)
		case entrySize:
			e.Bytes = int64(f.number)
		case entryCRC:
			e.crc = uint32(f.number)
		case entrySlice:
			e.sliced = true
		}
	}
	if e.sliced {
		return e, nil
	}
	if e.shard < 0 || e.shard >= b.shards {
		return e, fail("it is in shard %d of %d", e.shard, b.shards)
	}
	if e.offset < 0 || e.Bytes < 0 || e.offset > math.MaxInt64-e.Bytes {
		return e, fail("%d bytes at offset %d", e.Bytes, e.offset)
	}
	if want, ok := e.bytes(); !ok || (want >= 0 && want != e.Bytes) {
		return e, fail("%d bytes do not hold a tensor of %v", e.Bytes, e.TensorSpec)
	}
	return e, nil
}

// bytes returns the size of a tensor of the entry's type and shape, -1 if it
// depends on the values. ok is false for an impossible shape.
func (e *bundleEntry) bytes() (size int64, ok bool) {
	d, dims := e.DType.Base(), e.Shape.Dims()
	n, bytes, err := dtype.ByteSize(d, dims)
	switch {
	case err != nil || dims == nil:
		return 0, false
	case !d.Known():
		return -1, true // a type of a newer TensorFlow
	case d.Size() == 0:
		return -1, n <= e.Bytes // an element takes a byte at the least
	}
	return bytes, true
}

// shardName returns the name of a data file.
func (b *bundle) shardName(shard int32) string {
	return fmt.Sprintf("%s.data-%05d-of-%05d", b.prefix, shard, b.shards)
}

// checkShards checks every data file, one after the other.
func (b *bundle) checkShards(in *folder, sums bool) error {
	byShard := make(map[int32][]bundleEntry)
	for _, e := range b.entries {
		if !e.sliced {
			byShard[e.shard] = append(byShard[e.shard], e)
		}
	}
	for shard := range b.shards {
		entries := byShard[shard]
		slices.SortFunc(entries, func(a, c bundleEntry) int { return cmp.Compare(a.offset, c.offset) })
		if err := b.checkShard(in, shard, entries, sums); err != nil {
			return err
		}
	}
	return nil
}

// checkShard checks one data file: that it is there, long enough for all of its
// tensors, and, if sums is set, that their checksums match.
func (b *bundle) checkShard(in *folder, shard int32, entries []bundleEntry, sums bool) error {
	f := in.open(b.shardName(shard))
	if errors.Is(f.err, fs.ErrNotExist) {
		e := failAt(f.name, "the file is missing: variables shard %d of %d", shard+1, b.shards)
		e.Err = fs.ErrNotExist
		return e
	}
	if f.err != nil {
		return f.err
	}
	defer f.file.Close()
	want := int64(0)
	for _, e := range entries {
		want = max(want, e.offset+e.Bytes)
	}
	if f.size < want {
		e := failAt(f.name, "variables shard %d of %d ends too early: %d bytes, want %d", shard+1, b.shards, f.size, want)
		e.Err = millrace.ErrTruncated
		return e
	}
	if !sums {
		return nil
	}
	return checkSums(f.file, f.name, entries)
}

// checkHas checks that every tensor that a graph restores is in the index.
func (b *bundle) checkHas(name string, restored []string) error {
	for _, want := range restored {
		_, found := slices.BinarySearchFunc(b.entries, want, func(e bundleEntry, n string) int { return cmp.Compare(e.Name, n) })
		if !found {
			e := failAt(name, "the variable is missing from the index")
			e.Tensor = want
			return e
		}
	}
	return nil
}
