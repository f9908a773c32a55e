package convert

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"

	"millrace"
	"millrace/loaders/spec"
	"millrace/remote"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// recordFormat is the format of TFRecords. Their records are copied unchanged, and so
// is the manifest except for its compression.
var recordFormat = &format{name: "TFRecords", extensions: []string{spec.DataExtension, ".tfrecord"}}

// planRecords finds the manifests of all inputs, which must agree except for the
// compression, and counts the records.
func (c *conversion) planRecords(ctx context.Context) error {
	manifests := make(map[string]*spec.ManifestConfig) // key: a path
	compression := make(map[string]tfrecord.Compression)
	first := ""
	for i := range c.inputs {
		in := &c.inputs[i]
		path, err := c.manifestOfRecords(in.Path)
		if err != nil {
			return err
		}
		if manifests[path] == nil {
			if manifests[path], err = manifestAt(path); err != nil {
				return err
			}
		}
		if first == "" {
			first, c.manifest = path, manifests[path]
		}
		if !sameRecords(c.manifest, manifests[path]) {
			return inputError(in.Path, "its manifest %s describes other records than %s; convert each dataset to one of its own, or name a manifest with --manifest", millrace.Quote(path), millrace.Quote(first))
		}
		compression[in.Path] = compressionOf(manifests[path])
		if err := in.countRecords(ctx, compression[in.Path]); err != nil {
			return err
		}
		c.rows += in.Rows
	}
	if c.rows == 0 {
		return dataError(c.inputs[0].Path, "there are no records to convert")
	}
	f := *recordFormat
	f.open = func(path string, _ []Column) (source, error) { return openRecords(path, compression[path]) }
	c.format = &f
	return nil
}

// manifestOfRecords returns the path of the manifest of a data file.
func (c *conversion) manifestOfRecords(path string) (string, error) {
	if c.Manifest != "" {
		return c.Manifest, nil
	}
	if manifest := manifestAbove(path); manifest != "" {
		return manifest, nil
	}
	return "", inputError(path, "no %s is in its folder or above; name one with --manifest", spec.ManifestName)
}

// manifestAbove returns the path of the manifest of a data file: the one in the nearest
// parent folder that has one. It returns "" if there is none.
func manifestAbove(path string) string {
	dir := folderOf(path)
	if remote.IsURL(path) {
		return manifestInStore(dir)
	}
	for {
		manifest := filepath.Join(dir, spec.ManifestName)
		if _, err := os.Stat(manifest); err == nil {
			return manifest
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// sameRecords reports whether two manifests are equal except for the compression.
func sameRecords(a, b *spec.ManifestConfig) bool {
	x, y := *a, *b
	x.Compression, y.Compression = nil, nil
	first, err := x.MarshalJSON()
	if err != nil {
		return false
	}
	second, err := y.MarshalJSON()
	return err == nil && bytes.Equal(first, second)
}

func compressionOf(m *spec.ManifestConfig) tfrecord.Compression {
	if m.Compression == nil {
		return tfrecord.None
	}
	return tfrecord.Compression(*m.Compression)
}

// readerOptions returns the options for reading a file of records.
func readerOptions(c tfrecord.Compression) tfrecord.ReaderOptions {
	return tfrecord.ReaderOptions{Compression: c, MaxRecordBytes: tfrecord.MaxLayoutRecord}
}

// countRecords sets the number of rows of an input.
func (in *Input) countRecords(ctx context.Context, c tfrecord.Compression) error {
	files, err := index.Scan(ctx, []string{in.Path}, &index.Options{ReaderOptions: readerOptions(c)})
	if err != nil {
		return err
	}
	in.Rows = files[0].Records
	return nil
}

// blockBytes is the maximum size of a block of records, or of rows of arrays, unless a
// single row is larger.
const blockBytes = 1 << 20

// recordSource reads the records of a file.
type recordSource struct {
	in   *tfrecord.Reader
	done int64
}

func openRecords(path string, c tfrecord.Compression) (source, error) {
	options := readerOptions(c)
	in, err := tfrecord.OpenFile(path, &options)
	if err != nil {
		return nil, err
	}
	return &recordSource{in: in}, nil
}

func (s *recordSource) Close() error { return s.in.Close() }

func (s *recordSource) next() (block, error) {
	b := &recordsBlock{first: s.done}
	for len(b.ends) < blockRows && len(b.bytes) < blockBytes {
		record, err := s.in.Next()
		if err == io.EOF && len(b.ends) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		b.bytes = append(b.bytes, record...)
		b.ends = append(b.ends, len(b.bytes))
	}
	s.done += int64(len(b.ends))
	return b, nil
}

// recordsBlock is a number of concatenated records.
type recordsBlock struct {
	first int64 // number of preceding records
	bytes []byte
	ends  []int
}

func (b *recordsBlock) rows() int       { return len(b.ends) }
func (b *recordsBlock) row(i int) int64 { return b.first + int64(i) }
func (b *recordsBlock) size() int64     { return int64(cap(b.bytes)) }

// read is not called: the rows are records.
func (b *recordsBlock) read(v *values, _, _ int) error {
	v.missing = true
	return nil
}

func (b *recordsBlock) record(row int) []byte {
	start := 0
	if row > 0 {
		start = b.ends[row-1]
	}
	return b.bytes[start:b.ends[row]]
}
