package tfrecord

import (
	"crypto/sha256"
	"hash"

	"millrace"
)

// keptIndex is the index of the records that a Writer has written.
type keptIndex struct {
	Index
	digest  hash.Hash
	pending []byte // headers and checksums that are not in digest yet
}

// pendingBytes is the number of bytes that are hashed at once. Single frames of 16
// bytes would take three times as long.
const pendingBytes = 4 << 10

// add adds a record of n bytes.
func (k *keptIndex) add(head *[headerSize]byte, foot *[crcSize]byte, n int64) {
	k.Index.add(n)
	k.pending = append(append(k.pending, head[:]...), foot[:]...)
	if len(k.pending) >= pendingBytes {
		k.hash()
	}
}

// hash adds the pending bytes to the digest.
func (k *keptIndex) hash() {
	k.digest.Write(k.pending)
	k.pending = k.pending[:0]
}

// KeepIndex makes the Writer keep the data for [Writer.Index], 4 bytes a record. It is
// called before the first Write.
func (x *Writer) KeepIndex() {
	x.kept = &keptIndex{Index: Index{Layout: &Layout{}}, digest: sha256.New()}
}

// Index returns the index of a complete file that contains exactly the output of x, as
// [Scan] would return it with a layout. It is called after Close, and needs
// [Writer.KeepIndex].
func (x *Writer) Index(path string) (*Index, error) {
	if x.kept == nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "the record writer keeps no index")
	}
	info, err := stat(path)
	if err != nil {
		return nil, ioError("stat", path, err)
	}
	x.kept.hash()
	index := newIndex(path, x.format, info)
	kept := &x.kept.Index
	index.Records, index.MaxRecord, index.DataBytes, index.Layout = kept.Records, kept.MaxRecord, kept.DataBytes, kept.Layout
	x.kept.digest.Sum(index.Digest[:0])
	if x.format != None {
		index.Members = 1
	}
	return index, nil
}
