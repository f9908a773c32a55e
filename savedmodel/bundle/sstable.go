package bundle

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/snappy"

	"millrace"
	"millrace/savedmodel/modelfile"
)

// variables.index is a table in LevelDB's format. Blocks may be compressed with Snappy.
const (
	tableMagic   = 0xdb4775248b80fb57
	footerSize   = 48
	handlesSize  = footerSize - 8
	trailerSize  = 5 // follows a block: its compression, and a checksum
	restartSize  = 4
	crcMaskDelta = 0xa282ead8

	entryBytes = 64 // memory of an entry without its key
	maxSnappy  = 64 // maximum factor by which Snappy expands a block
)

// Limits of an index.
const (
	MaxIndexBytes = 256 << 20 // limit of variables.index
	maxKeyBytes   = 1 << 16   // limit of a variable's name
)

// castagnoli is the polynomial of all of TensorFlow's checksums.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskCRC returns a checksum as TensorFlow stores it.
func maskCRC(c uint32) uint32 { return (c>>15 | c<<17) + crcMaskDelta }

// table is a table in memory. Every byte of it is covered by a checksum or has only one
// valid value, so every flipped bit is detected.
type table struct {
	file     string
	data     []byte
	used     int64 // bytes of the blocks read so far
	inflated int64 // uncompressed bytes of the compressed blocks
	entries  int64 // memory of the entries read so far
}

// tableEntry is a key and its value.
type tableEntry struct {
	key   string
	value []byte
}

// readTable returns the entries of a table, which must be in strictly ascending order
// of their keys.
func readTable(file string, data []byte) ([]tableEntry, error) {
	t := &table{file: file, data: data}
	meta, index, err := t.footer()
	if err != nil {
		return nil, err
	}
	if _, err := t.block(meta); err != nil {
		return nil, err
	}
	blocks, err := t.block(index)
	if err != nil {
		return nil, err
	}
	var entries []tableEntry
	for i, b := range blocks {
		h, n := parseHandle(b.value)
		if n != len(b.value) {
			return nil, t.corrupt(index.offset, "an entry of its index is not the place of a block")
		}
		block, err := t.block(h)
		if err != nil {
			return nil, err
		}
		if len(block) > 0 && (block[len(block)-1].key > b.key || i > 0 && block[0].key <= blocks[i-1].key) || i > 0 && b.key <= blocks[i-1].key {
			return nil, t.corrupt(index.offset, "its index has other keys than its blocks")
		}
		entries = append(entries, block...)
	}
	for i := 1; i < len(entries); i++ {
		if entries[i-1].key >= entries[i].key {
			return nil, modelfile.Corrupt(t.file, "it is damaged: its keys are not in order")
		}
	}
	if t.used != int64(len(data))-footerSize {
		return nil, modelfile.Corrupt(t.file, "it is damaged: its blocks hold %d bytes, not %d", t.used, int64(len(data))-footerSize)
	}
	return entries, nil
}

// corrupt returns an error about a position in the table.
func (t *table) corrupt(offset int64, format string, args ...any) error {
	return modelfile.CorruptAt(t.file, offset, "it is damaged: "+format, args...)
}

// handle is the location of a block.
type handle struct{ offset, size int64 }

// parseHandle reads a handle and returns its length in bytes, 0 if it is invalid.
func parseHandle(b []byte) (handle, int) {
	offset, n := binary.Uvarint(b)
	if n <= 0 {
		return handle{}, 0
	}
	size, m := binary.Uvarint(b[n:])
	shortest := len(binary.AppendUvarint(binary.AppendUvarint(nil, offset), size))
	if m <= 0 || offset > MaxIndexBytes || size > MaxIndexBytes || n+m != shortest {
		return handle{}, 0
	}
	return handle{int64(offset), int64(size)}, n + m
}

// footer reads the end of the table.
func (t *table) footer() (meta, index handle, err error) {
	if len(t.data) < footerSize {
		e := modelfile.Fail(t.file, "%d bytes, the least is %d: it ends too early", len(t.data), footerSize)
		e.Err = millrace.ErrTruncated
		return meta, index, e
	}
	at := int64(len(t.data)) - footerSize
	foot := t.data[at:]
	if binary.LittleEndian.Uint64(foot[handlesSize:]) != tableMagic {
		return meta, index, t.corrupt(at+handlesSize, "it does not end as a table does")
	}
	meta, n := parseHandle(foot[:handlesSize])
	index, m := parseHandle(foot[n:handlesSize])
	if n == 0 || m == 0 {
		return meta, index, t.corrupt(at, "its footer cannot be read")
	}
	for _, c := range foot[n+m : handlesSize] {
		if c != 0 {
			return meta, index, t.corrupt(at, "its footer cannot be read")
		}
	}
	return meta, index, nil
}

// block reads a block and checks its checksum.
func (t *table) block(h handle) ([]tableEntry, error) {
	end := h.offset + h.size
	if end+trailerSize > int64(len(t.data))-footerSize {
		return nil, t.corrupt(h.offset, "a block of %d bytes does not fit in", h.size)
	}
	body, trailer := t.data[h.offset:end], t.data[end:end+trailerSize]
	sum := crc32.Checksum(t.data[h.offset:end+1], castagnoli)
	if maskCRC(sum) != binary.LittleEndian.Uint32(trailer[1:]) {
		return nil, t.corrupt(h.offset, "the checksum of a block does not match")
	}
	t.used += h.size + trailerSize
	if t.used > int64(len(t.data)) {
		return nil, t.corrupt(h.offset, "its blocks overlap")
	}
	body, err := t.uncompress(h, body, trailer[0])
	if err != nil {
		return nil, err
	}
	entries, ok := t.parseBlock(body)
	if t.entries > MaxIndexBytes {
		return nil, t.corrupt(h.offset, "its entries take more than %d bytes", MaxIndexBytes)
	}
	if !ok {
		return nil, t.corrupt(h.offset, "a block cannot be read")
	}
	return entries, nil
}

// uncompress returns the contents of a block.
func (t *table) uncompress(h handle, body []byte, compression byte) ([]byte, error) {
	const none, snappyBlock = 0, 1
	switch compression {
	case none:
		return body, nil
	case snappyBlock:
		size, err := snappy.DecodedLen(body)
		t.inflated += int64(size)
		if err != nil || t.inflated > MaxIndexBytes || int64(size) > maxSnappy*h.size {
			return nil, t.corrupt(h.offset, "a block cannot be uncompressed, or its index is larger than %d bytes", MaxIndexBytes)
		}
		if body, err = snappy.Decode(nil, body); err != nil {
			return nil, t.corrupt(h.offset, "a block cannot be uncompressed: %v", err)
		}
		return body, nil
	}
	return nil, t.corrupt(h.offset, "a block is compressed in a way that TensorFlow does not know (%d)", compression)
}

// parseBlock reads the entries of a block. Each key shares a prefix with the one before
// it, so four bytes may represent a key of maxKeyBytes. The limit therefore counts the
// memory of the entries. TensorFlow does not read the entries one by one: it searches
// among the restart points at the end of the block. So each must be the place of an
// entry whose key is whole, or TensorFlow would find other entries than this package.
func (t *table) parseBlock(b []byte) ([]tableEntry, bool) {
	r, ok := restartsOf(b)
	if !ok {
		return nil, false
	}
	end := len(b) - restartSize - len(r.left)
	var entries []tableEntry
	var key []byte
	for b = b[:end]; len(b) > 0; {
		at := end - len(b)
		var sizes [3]uint64 // shared, not shared, value
		for i := range sizes {
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, false
			}
			sizes[i], b = v, b[n:]
		}
		shared, own, value := sizes[0], sizes[1], sizes[2]
		if shared > uint64(len(key)) || own > uint64(len(b)) || value > uint64(len(b))-own || shared+own > maxKeyBytes {
			return nil, false
		}
		if r.pass(at) && shared > 0 || at == 0 && r.passed == 0 {
			return nil, false
		}
		if t.entries += entryBytes + int64(shared+own); t.entries > MaxIndexBytes {
			return nil, false
		}
		key = append(key[:shared], b[:own]...)
		entries = append(entries, tableEntry{key: string(key), value: b[own : own+value]})
		b = b[own+value:]
	}
	if len(entries) == 0 {
		r.pass(0)
	}
	return entries, len(r.left) == 0
}

// restarts are the restart points of a block that were not passed yet, in their order.
type restarts struct {
	left   []byte
	passed int
}

// restartsOf returns the restart points at the end of a block.
func restartsOf(b []byte) (restarts, bool) {
	if len(b) < restartSize {
		return restarts{}, false
	}
	n := int64(binary.LittleEndian.Uint32(b[len(b)-restartSize:]))
	begin := int64(len(b)) - restartSize*(n+1)
	if begin < 0 {
		return restarts{}, false
	}
	return restarts{left: b[begin : len(b)-restartSize]}, true
}

// pass takes the restart points at an offset, and reports whether there were any.
func (r *restarts) pass(at int) (found bool) {
	for len(r.left) > 0 && int64(binary.LittleEndian.Uint32(r.left)) == int64(at) {
		r.left = r.left[restartSize:]
		r.passed++
		found = true
	}
	return found
}
