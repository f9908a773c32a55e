package convert

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

var (
	csvFormat = separated("CSV", ".csv", ',')
	tsvFormat = separated("TSV", ".tsv", '\t')
)

// separated returns the format of files with one row per line, whose first line has the
// names of the columns.
func separated(name, extension string, comma byte) *format {
	return &format{
		name: name, extensions: []string{extension}, textual: true,
		survey: func(ctx context.Context, path string) (*survey, error) { return surveyCSV(ctx, path, comma) },
		open:   func(path string, columns []Column) (source, error) { return openCSV(path, comma, columns) },
	}
}

// csvFile reads the rows of a file.
type csvFile struct {
	path  string
	file  inputFile
	cut   *rowCutter
	names []string
	data  []byte // bytes read that are not part of a row yet
	last  bool   // nothing follows the data
	line  int64  // line number of the first data byte
	row   int64  // number of preceding rows
	piece int    // number of bytes to read at once
	spare sync.Pool
}

// csvBytes is the number of bytes to read at once.
const csvBytes = 256 << 10

// readCSV opens a file and reads its first line.
func readCSV(path string, comma byte) (*csvFile, error) {
	file, _, err := openInput(path)
	if err != nil {
		return nil, err
	}
	f := &csvFile{path: path, file: file, cut: newRowCutter(comma), line: 1, piece: csvBytes}
	if err := f.readNames(); err != nil {
		file.Close()
		return nil, err
	}
	return f, nil
}

// readNames reads the first line.
func (f *csvFile) readNames() error {
	if err := f.fill(max(f.piece, len(byteOrderMark))); err != nil {
		return err
	}
	if problem := textProblem(f.data); problem != "" {
		return dataError(f.path, "%s", problem)
	}
	f.data = bytes.TrimPrefix(f.data, byteOrderMark)
	b := &csvBlock{}
	if err := f.cutRows(b, 1); err == io.EOF {
		return dataError(f.path, "the file is empty; its first line must have the names of the columns")
	} else if err != nil {
		return err
	}
	if b.width > maxColumns {
		return tooManyColumns(f.path)
	}
	known := make(map[string]bool, b.width)
	for i := range b.width {
		name := string(b.cell(0, i))
		switch {
		case name == "":
			return dataError(f.path, "line 1: column %d has no name", i+1)
		case known[name]:
			return dataError(f.path, "line 1: two columns are called %s", millrace.QuoteData([]byte(name)))
		}
		f.names, known[name] = append(f.names, name), true
	}
	f.row = 0
	return nil
}

// fill reads until there are n bytes of data, or the file ends.
func (f *csvFile) fill(n int) error {
	f.data = slices.Grow(f.data, max(0, n-len(f.data)))
	for len(f.data) < n && !f.last {
		got, err := f.file.Read(f.data[len(f.data):n])
		f.data = f.data[:len(f.data)+got]
		if f.last = err == io.EOF; err != nil && !f.last {
			return ioError(f.path, err)
		}
	}
	return nil
}

// next returns the next rows, and io.EOF after the last ones.
func (f *csvFile) next() (*csvBlock, error) {
	b, _ := f.spare.Get().(*csvBlock)
	if b == nil {
		b = &csvBlock{}
	}
	if err := f.fill(f.piece); err != nil {
		return nil, err
	}
	return b, f.cutRows(b, math.MaxInt)
}

// free recycles a block that is no longer used.
func (f *csvFile) free(b *csvBlock) { f.spare.Put(b) }

// cutRows makes a block of the whole rows of the data, at most some. It reads more if there
// is none.
func (f *csvFile) cutRows(b *csvBlock, most int) error {
	b.cells, b.width, b.count, b.first = b.cells[:0], len(f.names), 0, f.row+1
	at := 0
	for b.count < most {
		n, status := blank(f.data[at:], f.last)
		if n > 0 {
			at, f.line = at+n, f.line+1
			continue
		}
		if at == len(f.data) && f.last {
			break
		}
		next := at
		if status == rowWhole {
			before := len(b.cells)
			b.cells, next, status = f.cut.cut(f.data, at, f.last, b.cells)
			if status == rowWhole && b.width > 0 && len(b.cells)-before != b.width {
				status = rowFault
			}
		}
		if status == rowFault {
			return f.fault(f.data[at:])
		}
		if status == rowOpen {
			if b.count > 0 {
				break
			}
			if len(f.data) > maxLine {
				return lineError(f.path, f.line, "; is a quote not closed?")
			}
			if f.cut.open > max(b.width, 1) && (b.width > 0 || f.cut.open > maxColumns) {
				return f.tooWide()
			}
			if err := f.fill(min(2*max(len(f.data), f.piece), maxLine+f.piece)); err != nil {
				return err
			}
			continue
		}
		f.cut.unquote(f.data, b.cells)
		f.line += int64(f.cut.lines)
		at, b.count = next, b.count+1
		if b.width == 0 {
			b.width = len(b.cells)
		}
	}
	if b.count == 0 {
		return io.EOF
	}
	f.row += int64(b.count)
	rest := append(b.data[:0], f.data[at:]...)
	b.data, f.data = f.data[:at], rest
	return nil
}

// tooWide is the error about a row that already has too many cells.
func (f *csvFile) tooWide() error {
	if len(f.names) == 0 {
		return tooManyColumns(f.path)
	}
	return dataError(f.path, "line %d has more than the %d columns of the first line", f.line, len(f.names))
}

// maxFault is the size of a faulty row that encoding/csv may explain: it takes eight
// times as much memory as the row.
const maxFault = 4 << 20

// fault returns the error in the first row of the data.
func (f *csvFile) fault(data []byte) error {
	if len(data) > maxFault {
		return dataError(f.path, "the row of more than %d bytes that begins in line %d cannot be cut into columns; close its quotes, and double those within a text", maxFault, f.line)
	}
	r := csv.NewReader(io.MultiReader(bytes.NewReader(data), io.LimitReader(f.file, csvBytes)))
	r.Comma, r.FieldsPerRecord = rune(f.cut.comma), len(f.names)
	cells, err := r.Read()
	var bad *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return dataError(f.path, "line %d has %d columns, the first line has %d", f.line, len(cells), len(f.names))
	case errors.As(err, &bad):
		return dataError(f.path, "line %d: %v; quote texts that have a separator, a quote or a line break in them", f.line+int64(bad.Line)-1, bad.Err)
	case err != nil:
		return ioError(f.path, err)
	}
	return dataError(f.path, "line %d cannot be cut into columns", f.line)
}

// csvBlock is a number of rows.
type csvBlock struct {
	data  []byte
	cells []cell
	width int // cells per row
	count int
	first int64 // number of the first row
}

// cell returns the bytes of a cell.
func (b *csvBlock) cell(row, column int) []byte {
	c := b.cells[row*b.width+column]
	return b.data[c.start:c.end:c.end]
}

// Kinds of the cells of a column, from the narrowest to the widest.
const (
	cellNone = iota
	cellBool
	cellInt
	cellFloat
	cellText
)

// cellKinds are the columns for the kinds.
var cellKinds = [...]Column{
	cellNone: {}, cellBool: scalar("", spec.Int, "bool"), cellInt: scalar("", spec.Int, "int64"),
	cellFloat: scalar("", spec.Float, "float32"), cellText: scalar("", spec.String, "string"),
}

// kindOfCell returns the kind of a cell in a column of a kind so far.
func kindOfCell(cell []byte, so int) int {
	switch so {
	case cellNone, cellBool:
		if _, ok := truth(cell); ok {
			return cellBool
		}
		if so == cellBool {
			return cellText
		}
		fallthrough
	case cellInt:
		// An integer that exceeds 64 bits stays an integer, so that the conversion
		// refuses it: as a float it would lose digits.
		if _, ok := shortInt(cell); ok {
			return cellInt
		}
		if _, err := strconv.ParseInt(string(cell), 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return cellInt
		}
		fallthrough
	case cellFloat:
		if isShortFloat(cell) {
			return cellFloat
		}
		if _, err := strconv.ParseFloat(string(cell), 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return cellFloat
		}
	}
	return cellText
}

// truth returns the number for "true" or "false".
func truth(cell []byte) (x int64, ok bool) {
	switch string(cell) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	return 0, false
}

// mergeKinds returns the kind that the cells of two kinds can all have.
func mergeKinds(a, b int) int {
	switch {
	case a == b, b == cellNone:
		return a
	case a == cellNone:
		return b
	case a == cellBool, b == cellBool:
		return cellText
	}
	return max(a, b)
}

// csvKinds are the kinds of a block's columns.
type csvKinds struct {
	block *csvBlock
	kinds []int
	empty []bool // some cells are empty
}

// kindsOf finds the kinds of a block's columns.
func kindsOf(b *csvBlock) csvKinds {
	k := csvKinds{b, make([]int, b.width), make([]bool, b.width)}
	for row := range b.count {
		for i := range b.width {
			if cell := b.cell(row, i); len(cell) == 0 {
				k.empty[i] = true
			} else if k.kinds[i] != cellText {
				k.kinds[i] = kindOfCell(cell, k.kinds[i])
			}
		}
	}
	return k
}

// textSince returns the row that makes a column a column of texts, false if its first
// cell is already a text.
func (b *csvBlock) textSince(column, so int) (row int, found bool) {
	for row := range b.count {
		cell := b.cell(row, column)
		if len(cell) == 0 {
			continue
		}
		kind := kindOfCell(cell, so)
		if kind == cellText {
			return row, so != cellNone
		}
		so = kind
	}
	return 0, false
}

// surveyCSV reads a file and finds the kinds of its columns.
func surveyCSV(ctx context.Context, path string, comma byte) (*survey, error) {
	f, err := readCSV(path, comma)
	if err != nil {
		return nil, err
	}
	defer f.file.Close()
	s := &survey{columns: make([]Column, len(f.names))}
	all := csvKinds{kinds: make([]int, len(f.names)), empty: make([]bool, len(f.names))}
	err = inOrder(ctx, runtime.GOMAXPROCS(0), func(submit func(int64, func() csvKinds) error) error {
		for {
			b, err := f.next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := submit(b.size(), func() csvKinds { return kindsOf(b) }); err != nil {
				return err
			}
		}
	}, func(k csvKinds) error {
		s.rows += int64(k.block.count)
		for i := range f.names {
			all.empty[i] = all.empty[i] || k.empty[i]
			kind := mergeKinds(all.kinds[i], k.kinds[i])
			if kind == cellText && all.kinds[i] != cellText {
				if row, found := k.block.textSince(i, all.kinds[i]); found {
					s.notes = append(s.notes, fmt.Sprintf("%s: column %s is stored as text because of row %d: %s; --manifest can refuse it",
						millrace.Quote(path), millrace.QuoteData([]byte(f.names[i])), k.block.row(row), millrace.QuoteData(k.block.cell(row, i))))
				}
			}
			all.kinds[i] = kind
		}
		f.free(k.block)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, name := range f.names {
		s.columns[i] = cellKinds[all.kinds[i]]
		s.columns[i].Name = name
		s.columns[i].Optional = all.empty[i] && all.kinds[i] != cellText // an empty text is a text
	}
	return s, nil
}

// csvSource reads the rows of a file for the columns of all inputs.
type csvSource struct {
	*csvFile
	columns []Column
	at      []int          // position of each column in a row, -1: it is missing
	kinds   []example.Kind // kinds of the columns
}

func openCSV(path string, comma byte, columns []Column) (source, error) {
	f, err := readCSV(path, comma)
	if err != nil {
		return nil, err
	}
	s := &csvSource{csvFile: f, columns: columns}
	for _, c := range columns {
		s.at, s.kinds = append(s.at, slices.Index(f.names, c.Name)), append(s.kinds, kindOf(c.Stored))
	}
	return s, nil
}

func (s *csvSource) Close() error { return s.file.Close() }

func (s *csvSource) next() (block, error) {
	b, err := s.csvFile.next()
	if err != nil {
		return nil, err
	}
	return &csvRows{b, s}, nil
}

// csvRows are the rows of a block.
type csvRows struct {
	*csvBlock
	of *csvSource
}

func (b *csvBlock) rows() int       { return b.count }
func (b *csvBlock) row(i int) int64 { return b.first + int64(i) }
func (b *csvBlock) size() int64     { return int64(cap(b.data) + 8*cap(b.cells)) }

// free releases the memory.
func (b *csvRows) free() { b.of.free(b.csvBlock) }

func (b *csvRows) read(v *values, column, row int) error {
	at, kind := b.of.at[column], b.of.kinds[column]
	if at < 0 {
		v.missing = true
		return nil
	}
	cell := b.cell(row, at)
	switch {
	case kind == example.Bytes:
		v.texts = append(v.texts, cell)
		return nil
	case len(cell) == 0:
		v.missing = true
		return nil
	case kind == example.Int64:
		if x, ok := shortInt(cell); ok {
			v.ints = append(v.ints, x)
			return nil
		}
		if x, ok := truth(cell); ok && b.of.columns[column].DType == "bool" {
			v.ints = append(v.ints, x)
			return nil
		}
	default:
		if x, ok := shortFloat(cell); ok {
			return v.float(x)
		}
		if x, ok := shortInt(cell); ok {
			return v.integer(x, &b.of.columns[column])
		}
	}
	return v.parse(string(cell), &b.of.columns[column])
}
