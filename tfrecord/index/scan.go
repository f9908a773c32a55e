package index

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"millrace"
	"millrace/remote"
	"millrace/tfrecord"
)

// Options are the options of Scan. Nil and the zero value use index files next to the
// data, and write none.
type Options struct {
	tfrecord.ReaderOptions
	CacheDir  string      // folder of the index files for data in folders that cannot be written; "": none. See [CacheDir]
	Layout    bool        // determine the location of each record
	Write     bool        // write an index file where none matches
	Rebuild   bool        // ignore existing index files
	AllFaults bool        // continue after an error, and return the errors of all files
	SkipRest  bool        // see [tfrecord.ScanAllOptions]; no index file is written for such a file
	Warn      func(error) // called for an index that contradicts its data, or cannot be written; one call at a time; nil: no warnings
}

// File is the result of Scan for one data file.
type File struct {
	*tfrecord.Index
	IndexFile string // the index file that was used or written; "": none
	Believed  bool   // false: the data file was scanned
}

// Scan returns the number of records of each file, and with [Options.Layout] their
// locations, in the order of paths. If an index file matches its data the data file is
// not scanned. Errors are as for [tfrecord.ScanAll]. A problem with an index file is
// not an error. Scan may be called concurrently.
func Scan(ctx context.Context, paths []string, o *Options) ([]File, error) {
	if o == nil {
		o = &Options{}
	}
	s := &scan{Options: o, files: make(map[*tfrecord.Index]string)}
	all := &tfrecord.ScanAllOptions{ReaderOptions: o.ReaderOptions, AllFaults: o.AllFaults, SkipRest: o.SkipRest, Layout: o.Layout || o.Write}
	if !o.Rebuild {
		all.Known = s.known
	}
	found, err := tfrecord.ScanAll(ctx, paths, all)
	if found == nil {
		return nil, err
	}
	files := make([]File, len(found))
	for i, x := range found {
		if x == nil {
			continue // with AllFaults, a bad file
		}
		files[i] = File{Index: x}
		if files[i].IndexFile, files[i].Believed = s.files[x]; !files[i].Believed && o.Write && x.Rest == nil {
			files[i].IndexFile = s.write(x)
		}
		if !o.Layout {
			x.Layout = nil
		}
	}
	return files, err
}

// Lookup returns the contents of index files for data files, and scans no data. Files
// without a matching index have a nil Index. The options Write and Rebuild have no
// effect. Lookup only fails if the context ends. It may be called concurrently.
func Lookup(ctx context.Context, paths []string, o *Options) ([]File, error) {
	if o == nil {
		o = &Options{}
	}
	s := &scan{Options: o, files: make(map[*tfrecord.Index]string)}
	found, err := tfrecord.ScanAll(ctx, paths, &tfrecord.ScanAllOptions{
		ReaderOptions: o.ReaderOptions, AllFaults: true,
		Known: func(f tfrecord.File, x *tfrecord.Index) bool {
			s.known(f, x)
			return true
		},
	})
	if found == nil {
		return nil, err
	}
	files := make([]File, len(found))
	for i, x := range found {
		if path, ok := s.files[x]; ok {
			files[i] = File{Index: x, IndexFile: path, Believed: true}
		}
	}
	return files, nil
}

// scan is one call of Scan or Lookup.
type scan struct {
	*Options
	mu    sync.Mutex
	files map[*tfrecord.Index]string // the index files that were used
}

// known fills in the contents of the index file of an open data file, if there is a
// matching one.
func (s *scan) known(f tfrecord.File, x *tfrecord.Index) bool {
	for _, path := range s.places(x.Path) {
		c, err := read(path, maxSize(x.Size, x.Compression))
		if err == nil {
			err = c.fits(f, x, s.SkipRest)
		}
		if err == nil && s.fill(x, c) {
			s.mu.Lock()
			s.files[x] = path
			s.mu.Unlock()
			return true
		}
		if err != nil && !harmless(err) {
			s.warn(path, err)
		}
	}
	return false
}

// harmless reports whether an index is unusable for a reason that needs no warning: it
// is missing, or older than the data or than this program.
func harmless(err error) bool {
	var differs *misfit
	var bad *formatError
	switch {
	case errors.As(err, &differs):
		return differs.older
	case errors.As(err, &bad):
		return bad.other
	}
	return errors.Is(err, fs.ErrNotExist)
}

// places returns the possible paths of the index of a data file.
func (s *scan) places(data string) []string {
	places := []string{adjacent(data)}
	if s.CacheDir != "" && !remote.IsURL(data) { // an object that was replaced would still fit a file in the cache
		if path, err := cached(s.CacheDir, data); err == nil {
			places = append(places, path)
		}
	}
	return places
}

// fill copies the contents of an index file. It returns false if a record is larger
// than the limit, which a scan then reports.
func (s *scan) fill(x *tfrecord.Index, c *contents) bool {
	limit := s.MaxRecordBytes
	if limit <= 0 {
		limit = tfrecord.DefaultMaxRecordBytes
	}
	most, bytes := int64(0), int64(0)
	for _, n := range c.layout.Lengths() {
		most, bytes = max(most, int64(n)), bytes+int64(n)
	}
	if most > limit {
		return false
	}
	x.Records, x.MaxRecord, x.DataBytes, x.Members = c.layout.Records(), most, bytes, c.members
	if s.Layout {
		x.Layout, x.Digest = c.layout, c.digest
	}
	return true
}

// write writes the index of a scanned file and returns its path, "" if it could not be
// written.
func (s *scan) write(x *tfrecord.Index) string {
	path, err := Write(x, s.CacheDir)
	if err == nil {
		return path
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Warn != nil {
		s.Warn(err)
	}
	return ""
}

// warn reports that an index file is not used.
func (s *scan) warn(path string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Warn == nil {
		return
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	e := millrace.Errorf(millrace.ErrCorrupt, "the index is not used: %w", err)
	e.File = path
	s.Warn(e)
}
