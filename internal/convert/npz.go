package convert

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"millrace"
	"millrace/tfrecord"
)

// npzFormat is the format of archives of NumPy arrays. Row i has element i of each
// array, so the first dimensions are the same.
var npzFormat = &format{name: "NumPy", extensions: []string{".npz"}, survey: surveyNPZ, open: openNPZ}

// member is an array of an archive.
type member struct {
	*npyArray
	name string
	in   io.ReadCloser // the elements that have not been read
	all  []byte        // all elements, where the first index changes fastest
}

// archive is an open file.
type archive struct {
	path    string
	zip     *zip.ReadCloser
	members []*member
	rows    int64
}

// openArchive reads the headers of all arrays.
func openArchive(path string) (a *archive, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, ioError(path, err)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, damaged(path, "NumPy", err)
	}
	a = &archive{path: path, zip: z}
	for _, f := range z.File {
		if err := a.add(f); err != nil {
			a.Close()
			return nil, err
		}
	}
	if len(a.members) == 0 {
		a.Close()
		return nil, dataError(path, "the archive has no array")
	}
	return a, nil
}

// fail names an array.
func (a *archive) fail(name string, err error) error {
	return dataError(a.path, "array %s: %w", millrace.QuoteData([]byte(name)), err)
}

// add opens an array.
func (a *archive) add(f *zip.File) error {
	name, ok := strings.CutSuffix(f.Name, ".npy")
	if !ok {
		return a.fail(f.Name, errors.New("the archive holds a file that is no array"))
	}
	in, err := f.Open()
	if err != nil {
		return a.fail(name, err)
	}
	m := &member{name: name, in: in}
	a.members = append(a.members, m)
	if m.npyArray, err = readNPYHeader(in); err != nil {
		return a.fail(name, err)
	}
	switch {
	case len(m.shape) == 0:
		return a.fail(name, errors.New("a single value has no rows"))
	case slices.ContainsFunc(a.members[:len(a.members)-1], func(o *member) bool { return o.name == name }):
		return a.fail(name, errors.New("two arrays have this name"))
	case len(a.members) > 1 && m.shape[0] != a.rows:
		return a.fail(name, fmt.Errorf("it has %d rows, and the array %s has %d", m.shape[0], millrace.QuoteData([]byte(a.members[0].name)), a.rows))
	case m.rowBytes() > tfrecord.MaxLayoutRecord:
		return a.fail(name, fmt.Errorf("a row of %d bytes is too large for a record", m.rowBytes()))
	}
	a.rows = m.shape[0]
	if got, want := int64(f.UncompressedSize64), m.header+a.rows*m.rowBytes(); got != want && m.kind != 'O' {
		return a.fail(name, fmt.Errorf("it has %d bytes, and its shape %v says %d", got, m.shape, want))
	}
	return nil
}

func (a *archive) Close() error {
	for _, m := range a.members {
		m.in.Close()
	}
	return a.zip.Close()
}

// surveyNPZ reads the headers of the arrays, which say all.
func surveyNPZ(_ context.Context, path string) (*survey, error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	s := &survey{rows: a.rows}
	for _, m := range a.members {
		c, err := m.column(m.name)
		if err != nil {
			return nil, a.fail(m.name, err)
		}
		if m.kind == 'M' || m.kind == 'm' {
			s.notes = append(s.notes, fmt.Sprintf("array %s: times are stored as the int64 that they are made of", millrace.QuoteData([]byte(m.name))))
		}
		s.columns = append(s.columns, c)
	}
	return s, nil
}

// npzSource reads blocks of rows of all arrays.
type npzSource struct {
	*archive
	columns []Column
	at      []int // the array of each column, -1 if there is none
	done    int64
}

func openNPZ(path string, columns []Column) (source, error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	s := &npzSource{archive: a, columns: columns}
	for _, c := range columns {
		s.at = append(s.at, slices.IndexFunc(a.members, func(m *member) bool { return m.name == c.Name }))
	}
	return s, nil
}

func (s *npzSource) next() (block, error) {
	if s.done == s.rows {
		return nil, s.end()
	}
	row := int64(1)
	for _, m := range s.members {
		row += m.rowBytes()
	}
	n := min(max(blockBytes/row, 1), blockRows, s.rows-s.done)
	b := &npzBlock{npzSource: s, first: s.done, count: int(n), data: make([][]byte, len(s.members))}
	for i, m := range s.members {
		var err error
		if b.data[i], err = m.read(s.done, n); err != nil {
			return nil, s.broken(m, err)
		}
	}
	s.done += n
	return b, nil
}

// end reads what follows the elements, which is nothing: only then the archive's
// checksums are compared.
func (s *npzSource) end() error {
	for _, m := range s.members {
		if _, err := io.Copy(io.Discard, m.in); err != nil {
			return s.broken(m, err)
		}
	}
	return io.EOF
}

// broken describes an array that cannot be read.
func (s *npzSource) broken(m *member, err error) error {
	return damaged(s.path, "NumPy", fmt.Errorf("array %s: %w", millrace.QuoteData([]byte(m.name)), err))
}

// read returns the next n rows. Rows of an array whose first index changes fastest are
// spread over all of it, so all of it is kept.
func (m *member) read(first, n int64) ([]byte, error) {
	size := m.rowBytes()
	if !m.fortran || len(m.shape) == 1 {
		b := make([]byte, n*size)
		_, err := io.ReadFull(m.in, b)
		return b, err
	}
	if m.all == nil {
		all, err := io.ReadAll(io.LimitReader(m.in, m.shape[0]*size))
		if err == nil && int64(len(all)) < m.shape[0]*size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		m.all = all
	}
	b := make([]byte, 0, n*size)
	for row := first; row < first+n; row++ {
		b = m.gather(b, row, 1, m.shape[0])
	}
	return b, nil
}

// gather appends the elements of a part of a row in the order of C. The part begins at
// element at, and dimension d has this stride.
func (m *member) gather(b []byte, at int64, d int, stride int64) []byte {
	if d == len(m.shape) {
		return append(b, m.all[at*int64(m.size):(at+1)*int64(m.size)]...)
	}
	for i := range m.shape[d] {
		b = m.gather(b, at+i*stride, d+1, stride*m.shape[d])
	}
	return b
}

// npzBlock is a number of rows.
type npzBlock struct {
	*npzSource
	first int64
	count int
	data  [][]byte // of each array
}

func (b *npzBlock) rows() int       { return b.count }
func (b *npzBlock) row(i int) int64 { return b.first + int64(i) + 1 }

func (b *npzBlock) read(v *values, column, row int) error {
	at := b.at[column]
	if at < 0 {
		v.missing = true
		return nil
	}
	m := b.members[at]
	size := int(m.rowBytes())
	return v.npy(b.data[at][row*size:(row+1)*size], m.npyArray, &b.columns[column])
}
