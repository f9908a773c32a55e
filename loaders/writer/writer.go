package writer

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"millrace"
	"millrace/loaders/spec"
	"millrace/remote"
	"millrace/tfrecord"
)

// DefaultShardBytes is the size at which a shard ends, unless [Options] set another.
const DefaultShardBytes = 256 << 20

// Options are the options for writing a dataset. Nil and the zero value write
// uncompressed shards of [DefaultShardBytes].
type Options struct {
	Compression  tfrecord.Compression
	ShardRecords int64 // records after which a shard ends; 0: ShardBytes decides
	ShardBytes   int64 // a shard ends before it has more uncompressed bytes than this; a larger record gets its own shard; 0: [DefaultShardBytes], if ShardRecords is 0

	// Resume continues where an earlier Writer with the same text stopped without
	// Commit. The text should identify everything on which the records depend. ""
	// starts a new dataset.
	Resume string
}

// Writer writes a dataset.
type Writer struct {
	dir      string // the folder of the complete dataset
	options  Options
	part     place
	progress progress
	shard    *shard // nil: none is open
	extra    map[string][]byte
	done     bool
	err      error // the first error of writing
}

// Create begins a dataset. Its folder must be empty or not exist; it may be the URL of a store
// that package remote writes. The manifest
// describes the records that will be written; its compression is set to that of the
// options. The caller must close the Writer, even after an error.
func Create(dir string, manifest *spec.ManifestConfig, o *Options) (*Writer, error) {
	if !remote.IsURL(dir) {
		dir = filepath.Clean(dir)
	} else if !strings.HasSuffix(dir, "://") {
		dir = strings.TrimSuffix(dir, "/")
	}
	w := &Writer{dir: dir, extra: make(map[string][]byte)}
	if o != nil {
		w.options = *o
	}
	if err := w.options.check(); err != nil {
		return nil, err
	}
	if err := w.setManifest(manifest); err != nil {
		return nil, err
	}
	part, err := openPlace(w.dir)
	if err != nil {
		return nil, err
	}
	w.part = part
	if w.progress, err = part.resume(w.options.Resume); err != nil {
		part.Close()
		return nil, err
	}
	return w, nil
}

// check refuses options with invalid values.
func (o *Options) check() error {
	switch {
	case o.Compression != tfrecord.None && o.Compression != tfrecord.GZIP && o.Compression != tfrecord.ZLIB:
		return millrace.Errorf(millrace.ErrConfig, "the compression %q is unknown; there are gzip and zlib", string(o.Compression))
	case o.ShardRecords < 0 || o.ShardBytes < 0:
		return millrace.Errorf(millrace.ErrConfig, "a shard of %d records, %d bytes: neither can be negative", o.ShardRecords, o.ShardBytes)
	}
	if o.ShardBytes == 0 && o.ShardRecords == 0 {
		o.ShardBytes = DefaultShardBytes
	}
	return nil
}

// setManifest stores the manifest's text.
func (w *Writer) setManifest(m *spec.ManifestConfig) error {
	whole := *m
	whole.Compression = nil
	if c := string(w.options.Compression); c != "" {
		whole.Compression = &c
	}
	text, err := json.MarshalIndent(&whole, "", "  ")
	if err != nil {
		return err
	}
	return w.Attach(spec.ManifestName, append(text, '\n'))
}

// Attach adds a file to the dataset, such as one about the origin of the records. Its
// name must not be that of a data file. Commit writes it.
func (w *Writer) Attach(name string, content []byte) error {
	if name != filepath.Base(name) || filepath.Ext(name) == shardExt || name == progressName {
		return millrace.Errorf(millrace.ErrConfig, "the name %q is not that of a file beside the shards", name)
	}
	w.extra[name] = content
	return nil
}

// Records returns how many records are in the dataset so far. After Create it is the
// number of records that Options.Resume found; the caller then writes the records after
// them.
func (w *Writer) Records() int64 {
	n := w.progress.Records()
	if w.shard != nil {
		n += w.shard.out.Count()
	}
	return n
}

// Shards returns the complete shards.
func (w *Writer) Shards() []Shard { return w.progress.Whole }

// Write adds a record. It does not keep the slice. After an error the Writer can only
// be closed.
func (w *Writer) Write(record []byte) error {
	if w.done || w.err != nil {
		return w.broken()
	}
	if w.shard != nil && w.full(int64(len(record))) {
		if err := w.Cut(); err != nil {
			return err
		}
	}
	if w.shard == nil {
		s, err := openShard(w.part.shards(), len(w.progress.Whole), w.options.Compression)
		if err != nil {
			return w.fail(err)
		}
		w.shard = s
	}
	return w.fail(w.shard.write(record))
}

// room returns a slice to append the next record to, nil if there is none. It is the
// place in a file's buffer if the record goes to the open shard.
func (w *Writer) room() []byte {
	if w.shard == nil || w.err != nil {
		return nil
	}
	return w.shard.out.AvailableBuffer()
}

// full reports whether the open shard has no room for another record.
func (w *Writer) full(n int64) bool {
	if most := w.options.ShardRecords; most > 0 && w.shard.out.Count() >= most {
		return true
	}
	most := w.options.ShardBytes
	return most > 0 && w.shard.bytes+tfrecord.FrameBytes+n > most
}

// Cut ends the shard, so that the next record begins another one. The records so far
// are then safe: with Options.Resume a later Writer continues after them. Without an
// open shard Cut does nothing.
func (w *Writer) Cut() error {
	if w.done || w.err != nil {
		return w.broken()
	}
	if w.shard == nil {
		return nil
	}
	s, err := w.shard.finish()
	if err != nil {
		return w.fail(err)
	}
	w.shard = nil
	w.progress.Whole = append(w.progress.Whole, *s)
	if w.options.Resume == "" {
		return nil // no later Writer would continue
	}
	return w.fail(w.part.save(&w.progress))
}

// Commit ends the last shard and gives the folder its name. A dataset without records
// has one shard without records.
func (w *Writer) Commit() error {
	if err := w.Cut(); err != nil {
		return err
	}
	if len(w.progress.Whole) == 0 {
		s, err := openShard(w.part.shards(), 0, w.options.Compression)
		if err != nil {
			return w.fail(err)
		}
		w.shard = s
		if err := w.Cut(); err != nil {
			return err
		}
	}
	if err := w.part.publish(w.extra); err != nil {
		return w.fail(err)
	}
	w.done = true
	return w.part.Close()
}

// Close ends a Writer. Without Commit it removes the files that were written, unless
// Options.Resume is set: then complete shards stay for a later Writer. Later calls do
// nothing.
func (w *Writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	if w.shard != nil {
		w.shard.discard()
		w.shard = nil
	}
	if w.options.Resume == "" || len(w.progress.Whole) == 0 {
		w.part.remove()
	}
	return w.part.Close()
}

// fail stores the first error.
func (w *Writer) fail(err error) error {
	if err != nil && w.err == nil {
		w.err = err
	}
	return err
}

// broken returns the error of a Writer that cannot write any more.
func (w *Writer) broken() error {
	if w.err != nil {
		return w.err
	}
	return millrace.Errorf(millrace.ErrClosed, "the dataset writer is closed")
}
