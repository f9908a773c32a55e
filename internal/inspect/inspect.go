// Package inspect reads the TFRecord files of a dataset and reports the number
// of records, the size and the compression of each file. For every feature it
// reports the kind, how many records have it, how many values it has, and their
// range. It needs no manifest and can propose one.
package inspect

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/loaders/spec"
)

// Extension is the extension of a dataset's data files.
const Extension = spec.DataExtension

// Options limits an inspection. Nil and the zero value inspect everything.
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
			found[i], err = inspectFile(ctx, filepath.Join(r.Path, name), o)
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

// list returns the data files relative to the folder in the order that a
// loader reads them, or "" for a path that is a file itself.
func (r *Report) list() ([]string, error) {
	info, err := os.Stat(r.Path)
	if err != nil {
		return nil, ioError(r.Path, err)
	}
	if !info.IsDir() {
		return []string{""}, nil
	}
	var names, near []string
	err = filepath.WalkDir(r.Path+string(filepath.Separator), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return ioError(path, err)
		}
		rel, err := filepath.Rel(r.Path, path)
		if err != nil || e.IsDir() {
			return err
		}
		switch {
		case strings.HasSuffix(rel, Extension):
			names = append(names, rel)
		case strings.Contains(filepath.Base(rel), strings.TrimSuffix(Extension, "s")):
			near = append(near, rel)
		}
		r.HasManifest = r.HasManifest || rel == spec.ManifestName
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	if len(near) > 0 {
		r.note("a dataset of type dir only reads files that end in %s; it ignores %s%s", Extension, millrace.Quote(near[0]), more(len(near)-1))
	}
	if names == nil {
		e := millrace.Errorf(millrace.ErrConfig, "no file in this folder ends in %s", Extension)
		if len(near) > 0 {
			e.Msg += "; rename those like " + millrace.Quote(near[0])
		}
		e.File = r.Path
		return nil, e
	}
	return names, nil
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
