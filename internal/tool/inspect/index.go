package inspect

import (
	"context"
	"errors"

	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// IndexOptions are the options of Index. Nil and the zero value keep indexes that match
// their files.
type IndexOptions struct {
	Rebuild bool        // make every index again
	Warn    func(error) // see [index.Options.Warn]
}

// IndexReport is the result of Index.
type IndexReport struct {
	Path     string        `json:"path"`
	Files    []IndexedFile `json:"files"`
	Problems error         `json:"-"` // files that are damaged, joined; they have no index
}

// IndexedFile is one data file and its index.
type IndexedFile struct {
	Path      string `json:"path"`    // path of the data file, relative to the folder
	Index     string `json:"index"`   // path of the index file; "": none could be written
	Current   bool   `json:"current"` // the index existed and matches the file
	Bytes     int64  `json:"bytes"`
	Records   int64  `json:"records"`
	DataBytes int64  `json:"data_bytes"` // total size of the records, uncompressed
}

// Index makes sure that every data file in a folder, at any depth, has a matching
// index. It finds the files and their compression as [Dataset] does.
func Index(ctx context.Context, path string, o *IndexOptions) (*IndexReport, error) {
	if o == nil {
		o = &IndexOptions{}
	}
	listing := &Report{Path: path}
	names, err := listing.list()
	if err != nil {
		return nil, err
	}
	r := &IndexReport{Path: path, Files: make([]IndexedFile, len(names))}
	for i, name := range names {
		if r.Files[i].Path = name; name == "" {
			r.Files[i].Path = path
		}
	}
	for c, places := range byCompression(path, names) {
		paths := make([]string, len(places))
		for i, place := range places {
			paths[i] = pathOf(path, names[place])
		}
		found, err := index.Scan(ctx, paths, o.scanOptions(c))
		if found == nil {
			return nil, err
		}
		r.Problems = errors.Join(r.Problems, err)
		for i, place := range places {
			r.Files[place].fill(found[i])
		}
	}
	return r, nil
}

// byCompression groups the positions of files in a list by their compression.
func byCompression(dir string, names []string) map[tfrecord.Compression][]int {
	groups := make(map[tfrecord.Compression][]int)
	for i, name := range names {
		c := compression(pathOf(dir, name), &tfrecord.ReaderOptions{})
		groups[c] = append(groups[c], i)
	}
	return groups
}

// scanOptions returns the options for files with a compression.
func (o *IndexOptions) scanOptions(c tfrecord.Compression) *index.Options {
	return &index.Options{
		ReaderOptions: tfrecord.ReaderOptions{Compression: c}, CacheDir: index.CacheDir(),
		Write: true, Rebuild: o.Rebuild, AllFaults: true, Warn: o.Warn,
	}
}

// fill copies the results, which are empty for a damaged file.
func (f *IndexedFile) fill(found index.File) {
	if found.Index == nil {
		return
	}
	f.Index, f.Current = found.IndexFile, found.Believed
	f.Bytes, f.Records, f.DataBytes = found.Size, found.Records, found.DataBytes
}

// Total returns the sums over all files, and the numbers of files with a current and
// with a new index.
func (r *IndexReport) Total() (sum IndexedFile, current, made int) {
	for _, f := range r.Files {
		sum.Bytes, sum.Records, sum.DataBytes = sum.Bytes+f.Bytes, sum.Records+f.Records, sum.DataBytes+f.DataBytes
		switch {
		case f.Index == "":
		case f.Current:
			current++
		default:
			made++
		}
	}
	return sum, current, made
}
