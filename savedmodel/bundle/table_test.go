package bundle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"

	"millrace"
	"millrace/internal/test/modeltest"
)

// tableMaker makes tables of raw blocks.
type tableMaker struct {
	out []byte
}

// add appends a block and returns its handle.
func (m *tableMaker) add(body []byte, compression byte) []byte {
	h := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(m.out))), uint64(len(body)))
	m.out = append(append(m.out, body...), compression)
	m.out = binary.LittleEndian.AppendUint32(m.out, maskCRC(crc32.Checksum(m.out[len(m.out)-len(body)-1:], castagnoli)))
	return h
}

// finish appends the footer.
func (m *tableMaker) finish(meta, index []byte) []byte {
	foot := append(bytes.Clone(meta), index...)
	m.out = append(append(m.out, foot...), make([]byte, handlesSize-len(foot))...)
	return binary.LittleEndian.AppendUint64(m.out, tableMagic)
}

// rawBlock makes a block of entries, each consisting of three sizes and the bytes after
// them.
func rawBlock(restarts int, entries ...string) []byte {
	b := []byte(strings.Join(entries, ""))
	for range restarts {
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(restarts))
}

// rawEntry makes an entry that claims sizes.
func rawEntry(shared, own, value uint64, rest string) string {
	var b []byte
	for _, n := range []uint64{shared, own, value} {
		b = binary.AppendUvarint(b, n)
	}
	return string(b) + rest
}

// lyingRestarts makes a block of the keys "a" and "ab" with restart points. The second key
// is whole if shared is 0.
func lyingRestarts(shared uint64, points ...uint32) []byte {
	second := rawEntry(0, 1, 0, "b")
	if shared > 0 {
		second = rawEntry(1, 1, 0, "b")
	}
	b := []byte(rawEntry(0, 1, 0, "a") + second)
	for _, p := range append(points, uint32(len(points))) {
		b = binary.LittleEndian.AppendUint32(b, p)
	}
	return b
}

// keyed makes a table of two blocks of one key, or of none if it is "", with their keys
// in the index.
func keyed(first, second, firstIndex, secondIndex string) []byte {
	m := &tableMaker{}
	var entries []string
	for i, key := range []string{first, second} {
		body := rawBlock(1)
		if key != "" {
			body = rawBlock(1, rawEntry(0, 1, 0, key))
		}
		h := m.add(body, 0)
		entries = append(entries, rawEntry(0, 1, uint64(len(h)), []string{firstIndex, secondIndex}[i]+string(h)))
	}
	meta := m.add(rawBlock(1), 0)
	return m.finish(meta, m.add(rawBlock(1, entries...), 0))
}

// Tables with correct checksums and invalid contents.
func TestBlocksThatLie(t *testing.T) {
	one := func(data []byte, compression byte) []byte {
		m := &tableMaker{}
		h := m.add(data, compression)
		meta := m.add(rawBlock(1), 0)
		return m.finish(meta, m.add(rawBlock(1, rawEntry(0, 1, uint64(len(h)), "z"+string(h))), 0))
	}
	indexedBlock := func(block []byte, values ...string) []byte {
		m := &tableMaker{}
		m.add(block, 0)
		var entries []string
		for i, v := range values {
			entries = append(entries, rawEntry(0, 1, uint64(len(v)), string(rune('a'+i))+v))
		}
		meta := m.add(rawBlock(1), 0)
		return m.finish(meta, m.add(rawBlock(1, entries...), 0))
	}
	indexed := func(values ...string) []byte { return indexedBlock(rawBlock(1, rawEntry(0, 1, 1, "av")), values...) }
	whole := rawBlock(1, rawEntry(0, 2, 1, "aav"), rawEntry(1, 1, 1, "bw"))
	place := string(binary.AppendUvarint(binary.AppendUvarint(nil, 0), uint64(len(rawBlock(1, rawEntry(0, 1, 1, "av"))))))
	packed := snappy.Encode(nil, whole)
	for _, tt := range []struct {
		name, want string
		data       []byte
	}{
		{"whole", "", one(whole, 0)},
		{"packed", "", one(packed, 1)},
		{"two restarts", "", one(rawBlock(2, rawEntry(0, 1, 0, "a")), 0)},
		{"a value of nothing", "", one(rawBlock(1, rawEntry(0, 1, 0, "a")), 0)},
		{"snappy that is cut", "cannot be uncompressed", one(packed[:len(packed)-1], 1)},
		{"snappy of no size", "cannot be uncompressed, or its index is larger", one([]byte("\xff"), 1)},
		{"snappy of a great size", "cannot be uncompressed, or its index is larger", one(binary.AppendUvarint(nil, MaxIndexBytes+1), 1)},
		{"snappy of the greatest size, that is cut", "cannot be uncompressed, or its index is larger", one(binary.AppendUvarint(nil, MaxIndexBytes), 1)},
		{"another compression", "in a way that TensorFlow does not know (2)", one(whole, 2)},
		{"no restarts", "a block cannot be read", one([]byte{1, 2, 3}, 0)},
		{"too many restarts", "a block cannot be read", one(binary.LittleEndian.AppendUint32(nil, 1), 0)},
		{"sizes that do not end", "a block cannot be read", one(rawBlock(1, "\xff"), 0)},
		{"one size", "a block cannot be read", one(rawBlock(1, "\x00"), 0)},
		{"more shared than the key", "a block cannot be read", one(rawBlock(1, rawEntry(1, 1, 0, "a")), 0)},
		{"more key than there is", "a block cannot be read", one(rawBlock(1, rawEntry(0, 3, 0, "aa")), 0)},
		{"more value than there is", "a block cannot be read", one(rawBlock(1, rawEntry(0, 1, 2, "aa")), 0)},
		{"a value that wraps around", "a block cannot be read", one(rawBlock(1, rawEntry(0, 1, 1<<64-1, "aa")), 0)},
		{"the longest key", "", one(rawBlock(1, rawEntry(0, maxKeyBytes, 0, strings.Repeat("k", maxKeyBytes))), 0)},
		{"too long a key", "a block cannot be read", one(rawBlock(1, rawEntry(0, maxKeyBytes+1, 0, strings.Repeat("k", maxKeyBytes+1))), 0)},
		{"no restart at the first entry", "a block cannot be read", one(lyingRestarts(1, 4), 0)},
		{"a restart within an entry", "a block cannot be read", one(lyingRestarts(1, 0, 5), 0)},
		{"a restart where a key is not whole", "a block cannot be read", one(lyingRestarts(1, 0, 4), 0)},
		{"restarts in no order", "a block cannot be read", one(lyingRestarts(0, 0, 4, 0), 0)},
		{"a restart after the last entry", "a block cannot be read", one(lyingRestarts(0, 0, 8), 0)},
		{"restarts at two entries", "", one(lyingRestarts(0, 0, 4), 0)},
		{"entries without a restart", "a block cannot be read", one(rawBlock(0, rawEntry(0, 1, 0, "a")), 0)},
		{"two equal keys", "its keys are not in order", one(rawBlock(1, rawEntry(0, 1, 0, "a"), rawEntry(1, 0, 0, "")), 0)},
		{"one block", "", indexed(place)},
		{"a block twice", "its index has other keys than its blocks", indexed(place, place)},
		{"a key of the index before those of the block", "its index has other keys than its blocks", keyed("b", "c", "a", "d")},
		{"a key of the index as in the next block", "its index has other keys than its blocks", keyed("b", "c", "c", "d")},
		{"keys of the index between those of the blocks", "", keyed("b", "d", "c", "e")},
		{"keys of the index in no order, before an empty block", "its index has other keys than its blocks", keyed("b", "", "c", "a")},
		{"an index of no place", "an entry of its index is not the place of a block", indexed(place + "x")},
		{"an index of nothing", "an entry of its index is not the place of a block", indexed(place[:1])},
		{"a place that is longer than it needs", "an entry of its index is not the place of a block", indexed("\x80\x00" + place[1:])},
		{"blocks that nothing names", "its blocks hold 26 bytes, not 44", indexed()},
		{"a place beyond the end", "a block of 16383 bytes does not fit in", indexed("\x00\xff\x7f")},
		{"blocks that overlap", "its blocks overlap", indexedBlock(rawBlock(1), strings.Split(strings.Repeat("\x00\x08|", 16), "|")[:16]...)},
	} {
		_, err := readTable("TABLE", tt.data)
		var e *millrace.Error
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (!errors.As(err, &e) || !errors.Is(err, millrace.ErrCorrupt) || e.File != "TABLE" || !strings.Contains(e.Msg, tt.want)):
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	for i, want := range map[int]string{1: "the checksum of a block does not match", len(one(whole, 0)) - footerSize - 6: "the checksum of a block does not match"} {
		broken := one(whole, 0)
		broken[i]++
		_, err := readTable("TABLE", broken)
		modeltest.WantError(t, err, millrace.ErrCorrupt, want)
	}
	entries, err := readTable("TABLE", one(whole, 0))
	if got := fmt.Sprintf("%q", entries); err != nil || got != `[{"aa" "v"} {"ab" "w"}]` {
		t.Errorf("entries %s, %v", got, err)
	}
}

// A block beyond the end of the index is refused.
func TestPlacesOfBlocks(t *testing.T) {
	place := func(offset, size uint64) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(nil, offset), size)
	}
	for _, tt := range []struct {
		offset, size uint64
		ok           bool
	}{
		{0, 0, true}, {MaxIndexBytes, 1, true}, {1, MaxIndexBytes, true}, {MaxIndexBytes + 1, 1, false}, {1, MaxIndexBytes + 1, false}, {1<<64 - 1, 1<<64 - 1, false},
	} {
		b := place(tt.offset, tt.size)
		h, n := parseHandle(append(b, 0))
		if (n == len(b)) != tt.ok || !tt.ok && n != 0 || tt.ok && h != (handle{int64(tt.offset), int64(tt.size)}) {
			t.Errorf("%d bytes at %d: %v of %d bytes", tt.size, tt.offset, h, n)
		}
	}
}

// The footer of a table is at the end of the file, and contains no other bytes.
func TestFooters(t *testing.T) {
	whole := modeltest.WriteTable([]modeltest.Entry{{Key: "a", Value: []byte("v")}})
	foot := len(whole) - footerSize
	for name, change := range map[string]func(b []byte) []byte{
		"cut":           func(b []byte) []byte { return b[foot+1:] },
		"magic":         func(b []byte) []byte { b[len(b)-1]++; return b },
		"padding":       func(b []byte) []byte { b[foot+handlesSize-1] = 1; return b },
		"first handle":  func(b []byte) []byte { copy(b[foot:], bytes.Repeat([]byte{0xff}, 10)); return b },
		"second handle": func(b []byte) []byte { copy(b[foot+2:], bytes.Repeat([]byte{0xff}, 10)); return b },
	} {
		_, err := readTable("TABLE", change(bytes.Clone(whole)))
		if !errors.Is(err, millrace.ErrCorrupt) && !errors.Is(err, millrace.ErrTruncated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readTable("TABLE", whole); err != nil {
		t.Error(err)
	}
}

// Keys share their prefixes, so that an index of 100 kB may claim 600 MB of them.
func TestKeysThatGrow(t *testing.T) {
	const prefix, keys = 60_000, 10_000
	entries := []string{rawEntry(0, prefix, 1, strings.Repeat("k", prefix)+"v")}
	for i := range uint32(keys) {
		entries = append(entries, rawEntry(prefix, 4, 1, string(binary.BigEndian.AppendUint32(nil, i))+"v"))
	}
	m := &tableMaker{}
	data := m.add(rawBlock(1, entries...), 0)
	meta := m.add(rawBlock(1), 0)
	index := m.add(rawBlock(1, rawEntry(0, 1, uint64(len(data)), "z"+string(data))), 0)
	_, err := readTable("variables.index", m.finish(meta, index))
	if !errors.Is(err, millrace.ErrCorrupt) || !strings.Contains(err.Error(), "its entries take more than") {
		t.Errorf("got %v", err)
	}
}
