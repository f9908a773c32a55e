package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// SaveOptions are the options of [Dataset.Save].
type SaveOptions struct {
	Compression string    // "NONE", "GZIP" or "SNAPPY"; default "NONE"
	Shard       ShardFunc // which file an element goes to; nil: all to one
	Session     *tfbridge.SessionOptions
	Feeds       map[tfbridge.Output]*tfbridge.Tensor // values of the dataset's placeholders
}

// Save writes all elements to files in a local directory, for [Load] and for Python's
// tf.data.Dataset.load. It makes the directory if it does not exist, and reads the dataset
// to its end. When ctx is done it waits for the step in flight and returns an error of class
// millrace.ErrCanceled. It wraps SaveDataset.
func (d *Dataset) Save(ctx context.Context, directory string, o *SaveOptions) error {
	d = d.orNone()
	if o == nil {
		o = &SaveOptions{}
	}
	s := d.scope
	shard := o.Shard
	if shard == nil {
		shard = func(s *graph.Scope, _ []tfbridge.Output) tfbridge.Output { return s.Const(int64(0)) }
	}
	f := d.shardFunction("Dataset.Save", shard)
	op := s.AddOperation(tfbridge.OpSpec{
		Type:  "SaveDataset",
		Input: []tfbridge.Input{d.read(), s.Const(directory), f.Inputs()},
		Attrs: map[string]any{
			"compression":    snapshotCompression(s, "Dataset.Save", o.Compression, ""),
			"shard_func":     f.Attr(),
			"use_shard_func": o.Shard != nil,
		},
	})
	if err := s.Err(); err != nil {
		return err
	}
	if err := writeSpec(directory, d.Spec()); err != nil {
		return err
	}
	return runOnce(ctx, s.Graph(), op, o)
}

// WriteTFRecords writes all elements, each a scalar string, as the records of one local
// TFRecord file, which it replaces: whole or not at all. It uses the options
// Compression ("GZIP", "ZLIB" or none), Session and Feeds only. When ctx is done it
// waits for the step in flight and returns an error of class millrace.ErrCanceled.
//
// It wraps DatasetToTFRecord. Package [millrace/tfrecord] writes Go values.
func (d *Dataset) WriteTFRecords(ctx context.Context, path string, o *SaveOptions) error {
	const what = "Dataset.WriteTFRecords"
	d = d.orNone()
	if o == nil {
		o = &SaveOptions{}
	}
	s := d.scope
	if s.Err() == nil && (len(d.specs) != 1 || d.specs[0].DType != tfbridge.String || d.specs[0].Shape.NumDimensions() != 0) {
		d.fail(what, "the elements are %v, must be one scalar string", d.specs)
	}
	compression(s, what, o.Compression)
	whole := atomicfile.Temporary(path)
	op := s.AddOperation(tfbridge.OpSpec{
		Type: "DatasetToTFRecord", Input: []tfbridge.Input{d.read(), s.Const(whole), s.Const(o.Compression)},
	})
	if err := s.Err(); err != nil {
		return err
	}
	err := runOnce(ctx, s.Graph(), op, o)
	if err == nil {
		err = rename(whole, path)
	}
	if err != nil {
		os.Remove(whole)
	}
	return err
}

// rename syncs a written file to the disk and gives it its final name.
func rename(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil {
		err = atomicfile.Rename(from, to)
	}
	if err == nil {
		err = atomicfile.SyncFolder(filepath.Dir(to))
	}
	if err != nil {
		return saveFailure(to, err)
	}
	return nil
}

// saveFailure returns an error of the operating system's about a file.
func saveFailure(path string, err error) error {
	e := millrace.Errorf(millrace.ErrIO, "%w", atomicfile.Cause(err))
	e.Op, e.File = "save", path
	return e
}

// runOnce runs an operation in its own session.
func runOnce(ctx context.Context, g *tfbridge.Graph, op *tfbridge.Operation, o *SaveOptions) error {
	if ctx == nil {
		return errNoContext("save")
	}
	sess, err := tfbridge.NewSession(g, o.Session)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	defer sess.Close()
	stop := context.AfterFunc(ctx, func() { sess.Close() })
	defer stop()
	if _, err := sess.Run(o.Feeds, nil, []*tfbridge.Operation{op}); err != nil {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "save")
		}
		return fmt.Errorf("save: %w", err)
	}
	return nil
}

// specFile is the file with the structure of a saved dataset's elements.
const specFile = "dataset_spec.pb"

// writeSpec writes a structure where Python looks for it.
func writeSpec(directory string, t *Structure) error {
	value, err := t.proto()
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(value)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "save: %w", err)
	}
	if err := os.MkdirAll(directory, 0o777); err != nil {
		return saveFailure(directory, err)
	}
	return atomicfile.Write(filepath.Join(directory, specFile), raw, 0o666)
}

// LoadOptions are the options of [Load].
type LoadOptions struct {
	Spec        *Structure // structure of the elements; nil: read from the directory
	Compression string     // as they were saved; default "NONE"
	Reader      ReaderFunc // how files are read; nil: one after the other
}

// Load returns the dataset that [Dataset.Save] or Python's tf.data.Dataset.save wrote to a
// local directory. It cannot load Python's distributed snapshots. It wraps LoadDataset.
func Load(s *graph.Scope, directory string, o *LoadOptions) *Dataset {
	if o == nil {
		o = &LoadOptions{}
	}
	t := o.Spec
	if t == nil {
		var err error
		if t, err = readSpec(directory); err != nil {
			s.UpdateErr("Load", err)
			return &Dataset{scope: s}
		}
	}
	s.UpdateErr("Load", t.check())
	packing := snapshotCompression(s, "Load", o.Compression, "")
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	like := &Dataset{scope: s, specs: t.Specs(), structure: t}
	read := like.readerFunction("Load", o.Reader, 1)
	return add(s, "LoadDataset", like.specs, attrs{"compression": packing, "reader_func": read.Attr()},
		s.Const(directory), read.Inputs()).as(t)
}

// readSpec reads the structure that was saved with a dataset.
func readSpec(directory string) (*Structure, error) {
	name := filepath.Join(directory, specFile)
	raw, err := regularfile.ReadFile(name, regularfile.TextBytes)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrIO, "no saved dataset: %w", err)
	}
	value := &tfproto.StructuredValue{}
	if err := proto.Unmarshal(raw, value); err != nil {
		return nil, millrace.Errorf(millrace.ErrCorrupt, "%s: %w", name, err)
	}
	t, err := structureFrom(value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}
