package convert

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"millrace"
)

// npzFormat is the format of archives of NumPy arrays. Row i has element i of each
// array, so the first dimensions are the same.
var npzFormat = &format{name: "NumPy", extensions: []string{".npz"}, survey: surveyNPZ, open: openNPZ}

// member is an array of an archive.
type member struct {
	*npyArray
	name string
	in   io.ReadCloser // reader of the remaining elements
	all  []byte        // all elements if the first index changes fastest
}

// archive is an open file.
type archive struct {
	path    string
	file    inputFile
	members []*member
	rows    int64
}

// openArchive reads the headers of all arrays.
func openArchive(path string) (a *archive, err error) {
	file, size, err := openInput(path)
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(file, size)
	if err == nil && len(z.File) > maxMembers {
		err = limitError("more than %d arrays in an archive", maxMembers)
	}
	if err != nil {
		file.Close()
		return nil, damaged(path, "NumPy", err)
	}
	a = &archive{path: path, file: file}
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
	if err := a.checkSizes(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Limits of an archive. An array of Fortran's order is kept whole.
const (
	maxMembers = 4096
	maxFortran = 1 << 30 // bytes of all arrays in Fortran's order
)

// checkSizes returns an error if rows have no bytes, so that their number is unbounded,
// or if arrays would take too much memory.
func (a *archive) checkSizes() error {
	row, whole := int64(0), int64(0)
	for _, m := range a.members {
		if m.kind == 'O' {
			return nil // refused later, with a better reason
		}
		row += m.rowBytes()
		if m.spread() {
			whole += a.rows * m.rowBytes()
		}
		if whole > maxFortran {
			return dataError(a.path, "%w", limitError("arrays in Fortran's order of %d bytes; no more than %d are kept. Save them with numpy.ascontiguousarray", whole, int64(maxFortran)))
		}
	}
	if row == 0 && a.rows > 0 {
		return dataError(a.path, "it has %d rows without a value", a.rows)
	}
	if row > maxRecord {
		return dataError(a.path, "%w", limitError("the arrays of a row have %d bytes; no more than %d are read", row, int64(maxRecord)))
	}
	return nil
}

// spread reports whether the elements of a row are spread over the whole array: its
// first index changes fastest.
func (m *member) spread() bool { return m.fortran && len(m.shape) > 1 }

// fail returns an error about an array.
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
	case m.rowBytes() > maxRecord:
		return a.fail(name, limitError("a row of %d bytes is too large for a record", m.rowBytes()))
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
	return a.file.Close()
}

// surveyNPZ reads the headers of the arrays, which suffice.
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

// end reads to the end of the archive member, which must directly follow the elements:
// only then are the archive's checksums compared.
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

// read returns the next n rows. Arrays whose first index changes fastest are kept
// whole, because their rows are spread over the array.
func (m *member) read(first, n int64) ([]byte, error) {
	size := m.rowBytes()
	if !m.spread() {
		b := make([]byte, n*size)
		_, err := io.ReadFull(m.in, b)
		return b, err
	}
	if m.all == nil {
		all := make([]byte, m.shape[0]*size)
		if _, err := io.ReadFull(m.in, all); err != nil {
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
	data  [][]byte // data of each array
}

func (b *npzBlock) rows() int       { return b.count }
func (b *npzBlock) row(i int) int64 { return b.first + int64(i) + 1 }

func (b *npzBlock) size() (n int64) {
	for _, data := range b.data {
		n += int64(len(data))
	}
	return n
}

func (b *npzBlock) read(v *values, column, row int) error {
	at := b.at[column]
	if at < 0 {
		v.missing = true
		return nil
	}
	m := b.members[at]
	if err := v.room(m.elements(), kindOf(b.columns[column].Stored)); err != nil {
		return err
	}
	size := int(m.rowBytes())
	return v.npy(b.data[at][row*size:(row+1)*size], m.npyArray, &b.columns[column])
}
