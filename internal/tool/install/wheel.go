package install

import (
	"archive/zip"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/runtimedir"
)

// workers is the number of goroutines that unpack headers. Unpacking the largest
// library takes another goroutine about as long as all headers together take.
const workers = 4

// maxRecord limits the size of the wheel's list of its files. In the pinned
// wheels it has 1.7 MB.
const maxRecord = 32 << 20

// listed is a file's entry in the wheel's RECORD.
type listed struct {
	sum  string // SHA-256 in hexadecimal
	size int64
}

// wheel is an open wheel that is being unpacked into a tree.
type wheel struct {
	src    *source
	tree   *tree
	record map[string]listed
}

// unpackWheel writes the wanted members of a wheel to t. Each must be listed
// in the wheel's RECORD, with its size and hash.
func (s *source) unpackWheel(ctx context.Context, t *tree) error {
	file, info, err := regularfile.OpenFile(s.path)
	if err != nil {
		return ioError(err)
	}
	defer file.Close()
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return problem(millrace.ErrCorrupt, s.path, "not a wheel: %w", err)
	}
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	record, err := s.record(z)
	if err != nil {
		return err
	}
	w := &wheel{s, t, record}
	g, ctx := errgroup.WithContext(ctx)
	small := make(chan *zip.File)
	for range workers {
		g.Go(func() error {
			for f := range small {
				if err := w.member(ctx, f); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, f := range z.File {
		if isLibrary(wanted(f.Name)) {
			g.Go(func() error { return w.member(ctx, f) })
		}
	}
	feed(ctx, z.File, small)
	return g.Wait()
}

// feed sends all wanted members except the libraries.
func feed(ctx context.Context, files []*zip.File, small chan<- *zip.File) {
	defer close(small)
	for _, f := range files {
		if name := wanted(f.Name); name == "" || isLibrary(name) {
			continue
		}
		select {
		case small <- f:
		case <-ctx.Done():
			return
		}
	}
}

// wanted returns the path of a wheel's member in the runtime, "" if a runtime
// does not need it.
func wanted(member string) string {
	name, ok := strings.CutPrefix(member, "tensorflow/")
	if !ok || strings.HasSuffix(member, "/") {
		return ""
	}
	if isLibrary(name) || name == notices || strings.HasPrefix(name, runtimedir.IncludeDir+"/") {
		return name
	}
	return ""
}

// The licence files of a runtime, and where wheels keep TensorFlow's own.
const (
	notices      = "THIRD_PARTY_NOTICES.txt"
	license      = "LICENSE"
	wheelLicense = runtimedir.IncludeDir + "/LICENSE"
)

// member writes one member, checked against the record.
func (w *wheel) member(ctx context.Context, f *zip.File) error {
	name := wanted(f.Name)
	if _, ok := w.record[f.Name]; !ok {
		return w.bad(f, "is not in the wheel's RECORD")
	}
	if !f.Mode().IsRegular() {
		return w.bad(f, "is not a regular file")
	}
	if err := w.extract(ctx, f, name); err != nil || name != wheelLicense {
		return err
	}
	return w.extract(ctx, f, license)
}

func (w *wheel) extract(ctx context.Context, f *zip.File, name string) error {
	r, err := f.Open()
	if err != nil {
		return w.bad(f, "%w", err)
	}
	defer r.Close()
	want := w.record[f.Name]
	sum, err := w.tree.write(name, &canceling{ctx, r}, min(want.size, limitOf(name)))
	if err != nil {
		return w.src.unpacking(err)
	}
	if sum != want.sum {
		return w.bad(f, "has SHA-256 %s, the wheel's RECORD says %s", sum, want.sum)
	}
	return nil
}

// bad returns the error for one member.
func (w *wheel) bad(f *zip.File, format string, args ...any) error {
	return problem(millrace.ErrCorrupt, w.src.path, "%s "+format, append([]any{millrace.QuoteData([]byte(f.Name))}, args...)...)
}

// unpacking adds the class and the path to an error of unpacking.
func (s *source) unpacking(err error) error {
	if e, ok := err.(*millrace.Error); ok {
		if e.File == "" {
			e.File = s.path
		}
		return e
	}
	return problem(millrace.ErrCorrupt, s.path, "unpack: %w", err)
}

// record reads the wheel's list of its files.
func (s *source) record(z *zip.Reader) (map[string]listed, error) {
	for _, f := range z.File {
		if dir, base := path.Split(f.Name); base == "RECORD" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(dir, "/") == 1 {
			r, err := f.Open()
			if err != nil {
				return nil, problem(millrace.ErrCorrupt, s.path, "RECORD: %w", err)
			}
			defer r.Close()
			return s.parseRecord(io.LimitReader(r, maxRecord))
		}
	}
	return nil, problem(millrace.ErrCorrupt, s.path, "not a wheel: it has no RECORD")
}

// parseRecord reads lines of name, "sha256=" with the hash in unpadded
// URL-safe base64, and size.
func (s *source) parseRecord(r io.Reader) (map[string]listed, error) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord = 3
	lines.ReuseRecord = true
	record := map[string]listed{}
	for {
		line, err := lines.Read()
		if err == io.EOF {
			return record, nil
		}
		if err != nil {
			return nil, problem(millrace.ErrCorrupt, s.path, "RECORD: %w", err)
		}
		sum, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(line[1], "sha256="))
		size, serr := strconv.ParseInt(line[2], 10, 64)
		if err == nil && serr == nil && len(sum) == 32 && size >= 0 {
			record[line[0]] = listed{hex.EncodeToString(sum), size}
		}
	}
}

// canceling is a reader that returns an error once its context is canceled.
type canceling struct {
	ctx context.Context
	r   io.Reader
}

func (c *canceling) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
