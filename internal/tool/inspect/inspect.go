// Package inspect reads the TFRecord files of a dataset and reports the number of
// records, the size and the compression of each file. For every feature it reports the
// kind, the number of records that have it, the number of values, and their range. It
// needs no manifest and can propose one.
package inspect

import (
	"context"
	"errors"
	"io/fs"
	"runtime"

	"golang.org/x/sync/errgroup"

	"millrace"
)

// Options limit an inspection. Nil and the zero value inspect everything.
type Options struct {
	Sample         int64 // the number of records to parse in each file; 0: all
	MaxRecordBytes int64 // cap on one record; 0: the reader's default
}

// Dataset inspects the data files in a folder, at any depth, or one file.
// Damaged files become problems of the report, and the other files are still
// read. An error means that no report is possible.
func Dataset(ctx context.Context, path string, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	r := &Report{Path: path, Sample: o.Sample, Notes: []string{}, Messages: []string{}}
	names, err := r.list()
	if err != nil {
		return nil, err
	}
	found := make([]*findings, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		group.Go(func() (err error) {
			found[i], err = inspectFile(ctx, pathOf(r.Path, name), o)
			if err == nil && name != "" {
				found[i].file.Path = name
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return r, r.merge(found)
}

// merge combines the findings of all files.
func (r *Report) merge(found []*findings) error {
	all := newStats()
	for _, f := range found {
		r.Files = append(r.Files, &f.file)
		r.Records += f.file.Records
		r.AtLeast = r.AtLeast || f.file.AtLeast
		r.Bytes += f.file.Bytes
		r.Parsed += f.stats.records
		r.Problems = append(r.Problems, f.problems...)
		if err := all.merge(f.stats); err != nil {
			return err
		}
	}
	for _, p := range r.Problems {
		r.Messages = append(r.Messages, p.Error())
	}
	r.Sequence = all.sequence
	r.Features = all.sorted()
	r.remark()
	return nil
}

func ioError(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", err)
	e.Op, e.File = "inspect", path
	return e
}
