package index_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

var sizes = []int{5, 0, 300, 1, 40, 7, 100_000, 12}

// file writes a data file with records of the given sizes.
func file(t *testing.T, c tfrecord.Compression, sizes ...int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.tfrecords")
	if err := os.WriteFile(path, data(c, sizes...), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func data(c tfrecord.Compression, sizes ...int) []byte {
	var records [][]byte
	for i, n := range sizes {
		records = append(records, bytes.Repeat([]byte{byte(i)}, n))
	}
	b := corrupt.Frame(records...)
	switch c {
	case tfrecord.GZIP:
		return corrupt.Gzip(b)
	case tfrecord.ZLIB:
		return corrupt.Zlib(b)
	}
	return b
}

// result is the result of a scan.
type result struct {
	index.File
	warnings []string
}

func scan(t *testing.T, path string, o index.Options) result {
	t.Helper()
	var r result
	o.Warn = func(err error) { r.warnings = append(r.warnings, err.Error()) }
	files, err := index.Scan(t.Context(), []string{path}, &o)
	if err != nil {
		t.Fatal(err)
	}
	r.File = files[0]
	return r
}

// same compares the results of scans.
func same(t *testing.T, got, want result) {
	t.Helper()
	a, b := *got.Index, *want.Index
	if a.Records != b.Records || a.MaxRecord != b.MaxRecord || a.DataBytes != b.DataBytes || a.Members != b.Members ||
		!slices.Equal(a.Layout.Lengths(), b.Layout.Lengths()) || a.Layout.End() != b.Layout.End() {
		t.Errorf("\n got %+v\nwant %+v", a, b)
	}
}

// A second scan uses the index of the first and returns the same result.
func TestBelieved(t *testing.T) {
	for _, c := range []tfrecord.Compression{tfrecord.None, tfrecord.GZIP, tfrecord.ZLIB} {
		for _, sizes := range [][]int{sizes, nil, {0}, make([]int, 1000)} {
			path := file(t, c, sizes...)
			o := index.Options{Layout: true, ReaderOptions: tfrecord.ReaderOptions{Compression: c}}
			want := scan(t, path, o)
			if want.Believed || want.Records != int64(len(sizes)) {
				t.Fatalf("%s: %+v", c, want)
			}
			o.Write = true
			if made := scan(t, path, o); made.Believed || made.IndexFile != path+index.Suffix || made.warnings != nil {
				t.Errorf("%s, written: %+v", c, made)
			}
			got := scan(t, path, o)
			if !got.Believed || got.IndexFile != path+index.Suffix || got.warnings != nil {
				t.Errorf("%s: not believed: %+v", c, got)
			}
			same(t, got, want)
			if o.Rebuild = true; scan(t, path, o).Believed {
				t.Errorf("%s: believed although it is to be made anew", c)
			}
		}
	}
}

// An index file takes 4 bytes a record.
func TestSize(t *testing.T) {
	path := file(t, tfrecord.None, make([]int, 1000)...)
	info, err := os.Stat(scan(t, path, index.Options{Write: true}).IndexFile)
	if err != nil || info.Size() != 80+4*1000+32 {
		t.Errorf("%v, %v", info.Size(), err)
	}
}

// seal gives an index file its correct digest.
func seal(b []byte) []byte {
	sum := sha256.Sum256(b[:len(b)-sha256.Size])
	return append(b[:len(b)-sha256.Size:len(b)-sha256.Size], sum[:]...)
}

// Whatever an index file contains, the result of a scan is the same as without it.
// Sealed files have a correct digest, as if an attacker made them.
func TestDamaged(t *testing.T) {
	path := file(t, tfrecord.None, sizes...)
	want := scan(t, path, index.Options{Layout: true})
	good, err := os.ReadFile(scan(t, path, index.Options{Write: true}).IndexFile)
	if err != nil {
		t.Fatal(err)
	}
	try := func(b []byte, warned bool) {
		t.Helper()
		if err := os.WriteFile(path+index.Suffix, b, 0o644); err != nil {
			t.Fatal(err)
		}
		got := scan(t, path, index.Options{Layout: true})
		same(t, got, want)
		if warned && (got.Believed || len(got.warnings) != 1 || !strings.Contains(got.warnings[0], path+index.Suffix)) {
			t.Errorf("believed %v, warnings %q", got.Believed, got.warnings)
		}
	}
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x81
		try(b, i < 8 || i >= 12) // another version counts as older, not as damaged
		try(seal(b), false)
	}
	for n := range good {
		try(good[:n:n], true)
		if n > sha256.Size {
			try(seal(bytes.Clone(good[:n])), false)
		}
	}
	try(append(bytes.Clone(good), 0), true)
	try(make([]byte, 1<<20), true)
	if got := scan(t, path, index.Options{Layout: true}); !strings.Contains(got.warnings[0], "1048576 bytes are more than the index of a file of this size has") {
		t.Errorf("a file that is too large for an index is read: %q", got.warnings)
	}
	try(data(tfrecord.None, 5, 6), true)
	for _, records := range []uint64{1 << 62, 1<<62 + 8, 1 << 63, 1<<64 - 1} {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint64(b[40:], records)
		try(seal(b), true)
	}
	swapped := bytes.Clone(good)
	copy(swapped[80:], good[84:88])
	copy(swapped[84:], good[80:84])
	try(seal(swapped), true)
	if got := scan(t, path, index.Options{Write: true}); got.IndexFile == "" {
		t.Errorf("a damaged index is not replaced: %+v", got)
	}
	if b, err := os.ReadFile(path + index.Suffix); err != nil || !bytes.Equal(b, good) {
		t.Errorf("the new index differs from the first: %v", err)
	}
}

// An index of an earlier version of the file is not used. A warning is given if the
// data contradicts it, but not if it is only older.
func TestOutdated(t *testing.T) {
	for _, tt := range []struct {
		name   string
		c      tfrecord.Compression
		sizes  []int // sizes of the records that replace the old ones
		moved  time.Duration
		warned string
	}{
		{name: "touched", sizes: sizes, moved: time.Second},
		{name: "grown", sizes: append(sizes[:8:8], 3), moved: time.Second, warned: "which now has"},
		{name: "cut, same time", sizes: sizes[:5], warned: "which now has"},
		{name: "other headers", sizes: []int{5, 0, 300, 1, 7, 40, 100_000, 12}, warned: "another record 4"},
		{name: "other first", sizes: []int{0, 5, 300, 1, 40, 7, 100_000, 12}, warned: "another record 0"},
		{name: "fewer", sizes: []int{5, 0, 300, 1, 40, 7, 100_000 + 12 + 16}, warned: "another record 6"},
		{name: "gzip, other size", c: tfrecord.GZIP, sizes: []int{5}, warned: "which now has"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := file(t, tt.c, sizes...)
			o := index.Options{Layout: true, ReaderOptions: tfrecord.ReaderOptions{Compression: tt.c}}
			written := o
			written.Write = true
			before := scan(t, path, written)
			if err := os.WriteFile(path, data(tt.c, tt.sizes...), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, before.ModTime.Add(tt.moved)); err != nil {
				t.Fatal(err)
			}
			got := scan(t, path, o)
			if said := strings.Join(got.warnings, "\n"); got.Believed || (said != "") != (tt.warned != "") || !strings.Contains(said, tt.warned) {
				t.Errorf("believed %v, warnings %q", got.Believed, got.warnings)
			}
			if err := os.Remove(path + index.Suffix); err != nil {
				t.Fatal(err)
			}
			same(t, got, scan(t, path, o))
		})
	}
}

// An index for a file that is declared plain is not used if the file is declared
// compressed.
func TestOtherCompression(t *testing.T) {
	path := file(t, tfrecord.GZIP)
	gzip := index.Options{Write: true, ReaderOptions: tfrecord.ReaderOptions{Compression: tfrecord.GZIP}}
	scan(t, path, gzip)
	if files, err := index.Scan(t.Context(), []string{path}, nil); !errors.Is(err, millrace.ErrCorrupt) {
		t.Errorf("a gzip file is scanned as a plain one: %+v, %v", files, err)
	}
}

// If the index cannot be written next to the data, it is in the cache directory.
func TestCacheDir(t *testing.T) {
	path, cache := file(t, tfrecord.None, sizes...), filepath.Join(t.TempDir(), "new", "cache")
	if err := os.Mkdir(path+index.Suffix, 0o755); err != nil { // a folder in the way
		t.Fatal(err)
	}
	r := scan(t, path, index.Options{Write: true})
	if r.IndexFile != "" || len(r.warnings) != 2 || !strings.Contains(r.warnings[1], path+index.Suffix) {
		t.Errorf("without a cache directory: %+v", r)
	}
	o := index.Options{Write: true, CacheDir: cache}
	if r := scan(t, path, o); filepath.Dir(r.IndexFile) != cache {
		t.Errorf("index in %q: %q", r.IndexFile, r.warnings)
	}
	if r := scan(t, path, o); !r.Believed || filepath.Dir(r.IndexFile) != cache {
		t.Errorf("the index in the cache directory is not believed: %+v", r)
	}
}

// A limit for records holds for an index too: the scan reports the record.
func TestLimit(t *testing.T) {
	path := file(t, tfrecord.None, sizes...)
	scan(t, path, index.Options{Write: true})
	o := &index.Options{ReaderOptions: tfrecord.ReaderOptions{MaxRecordBytes: 1000}}
	if _, err := index.Scan(t.Context(), []string{path}, o); !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("got %v", err)
	}
}

// Several processes may make the same index at once: no process reads half of one, and
// no temporary file is left.
func TestConcurrent(t *testing.T) {
	path := file(t, tfrecord.None, make([]int, 5000)...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				warn := func(err error) { t.Error(err) }
				files, err := index.Scan(t.Context(), []string{path}, &index.Options{Write: true, Warn: warn})
				if err != nil || files[0].Records != 5000 {
					t.Errorf("%+v, %v", files, err)
				}
				os.Remove(path + index.Suffix)
			}
		})
	}
	wg.Wait()
	os.Remove(path + index.Suffix)
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// The errors of all bad files come with the counts of the good ones.
func TestAllFaults(t *testing.T) {
	good, bad := file(t, tfrecord.None, 1, 2), file(t, tfrecord.None, 100)
	if err := os.Truncate(bad, 50); err != nil {
		t.Fatal(err)
	}
	files, err := index.Scan(t.Context(), []string{bad, good}, &index.Options{Write: true, AllFaults: true})
	if !errors.Is(err, millrace.ErrTruncated) || len(files) != 2 || files[0].Index != nil || files[1].Records != 2 {
		t.Errorf("%+v, %v", files, err)
	}
	if _, err := os.Stat(bad + index.Suffix); err == nil {
		t.Error("a truncated file has an index")
	}
}

// Lookup does not scan files, and only returns the contents of matching indexes.
func TestLookup(t *testing.T) {
	indexed, without, missing := file(t, tfrecord.None, sizes...), file(t, tfrecord.None, 1), filepath.Join(t.TempDir(), "none")
	scan(t, indexed, index.Options{Write: true})
	files, err := index.Lookup(t.Context(), []string{without, indexed, missing}, nil)
	if err != nil || len(files) != 3 || files[0].Index != nil || files[2].Index != nil || !files[1].Believed || files[1].Records != 8 {
		t.Errorf("%+v, %v", files, err)
	}
}

// Many files with one record, and one file with many records, are read by their
// indexes.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	one := data(tfrecord.None, 3)
	var paths []string
	for i := range 200 {
		path := filepath.Join(dir, fmt.Sprint(i, ".tfrecords"))
		if err := os.WriteFile(path, one, 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	paths = append(paths, file(t, tfrecord.None, make([]int, 200_000)...))
	for _, believed := range []bool{false, true} {
		files, err := index.Scan(t.Context(), paths, &index.Options{Layout: true, Write: true})
		if err != nil || len(files) != len(paths) {
			t.Fatalf("%d files, %v", len(files), err)
		}
		for i, f := range files {
			want := int64(1)
			if i == 200 {
				want = 200_000
			}
			if f.Believed != believed || f.Records != want || f.Layout.Records() != want {
				t.Fatalf("file %d: believed %v, %d records", i, f.Believed, f.Records)
			}
		}
	}
}

// The temporary name of an index is recognized as well, so that it is not mistaken for
// data.
func TestIsIndex(t *testing.T) {
	for path, want := range map[string]bool{
		"data/a.tfrecords" + index.Suffix:                                                 true,
		atomicfile.Temporary("data/a.tfrecords" + index.Suffix):                           true,
		"data/a.tfrecords":                                                                false,
		atomicfile.Temporary("data/a.tfrecords"):                                          false,
		strings.TrimSuffix(atomicfile.Temporary("data/a.tfrecords"+index.Suffix), ".tmp"): false,
	} {
		if got := index.IsIndex(path); got != want {
			t.Errorf("IsIndex(%s) is %v", path, got)
		}
	}
}
