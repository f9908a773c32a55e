package convert

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"millrace"
	"millrace/loaders/spec"
)

var (
	csvFormat = separated("CSV", ".csv", ',')
	tsvFormat = separated("TSV", ".tsv", '\t')
)

// separated returns the format of files with a row a line, whose first line has the
// names of the columns.
func separated(name, extension string, comma rune) *format {
	return &format{
		name: name, extensions: []string{extension}, textual: true,
		survey: func(ctx context.Context, path string) (*survey, error) { return surveyCSV(ctx, path, comma) },
		open:   func(path string, columns []Column) (source, error) { return openCSV(path, comma, columns) },
	}
}

// csvFile reads the lines of a file.
type csvFile struct {
	path   string
	file   *os.File
	reader *csv.Reader
	names  []string
}

// readCSV opens a file and reads its first line.
func readCSV(path string, comma rune) (*csvFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, ioError(path, err)
	}
	in := bufio.NewReaderSize(file, 1<<18)
	if start, _ := in.Peek(3); bytes.Equal(start, []byte("\xef\xbb\xbf")) { // a mark of UTF-8
		in.Discard(3)
	}
	f := &csvFile{path: path, file: file, reader: csv.NewReader(in)}
	f.reader.Comma = comma
	if f.names, err = f.read(); err != nil {
		file.Close()
		if err == io.EOF {
			return nil, dataError(path, "the file is empty; its first line must have the names of the columns")
		}
		return nil, err
	}
	f.names = slices.Clone(f.names)
	for i, name := range f.names {
		switch {
		case name == "":
			err = dataError(path, "line 1: column %d has no name", i+1)
		case slices.Index(f.names, name) < i:
			err = dataError(path, "line 1: two columns are called %s", millrace.QuoteData([]byte(name)))
		default:
			continue
		}
		file.Close()
		return nil, err
	}
	return f, nil
}

// read returns the next line, and describes what is wrong with it.
func (f *csvFile) read() ([]string, error) {
	cells, err := f.reader.Read()
	var bad *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		line, _ := f.reader.FieldPos(0)
		return nil, dataError(f.path, "line %d has %d columns, the first line has %d", line, len(cells), len(f.names))
	case errors.As(err, &bad):
		return nil, dataError(f.path, "line %d: %v; quote texts that have a separator, a quote or a line break in them", bad.Line, bad.Err)
	case err != nil && err != io.EOF:
		return nil, ioError(f.path, err)
	}
	return cells, err
}

// kinds that the cells of a column can all have, from the narrowest to the widest.
const (
	cellNone = iota
	cellBool
	cellInt
	cellFloat
	cellText
)

// cellKinds are the columns that the kinds become.
var cellKinds = [...]Column{
	cellNone: {}, cellBool: scalar("", spec.Int, "bool"), cellInt: scalar("", spec.Int, "int64"),
	cellFloat: scalar("", spec.Float, "float32"), cellText: scalar("", spec.String, "string"),
}

// kindOfCell returns the kind of a cell in a column of a kind so far.
func kindOfCell(cell string, so int) int {
	switch so {
	case cellNone, cellBool:
		if cell == "true" || cell == "false" {
			return cellBool
		}
		if so == cellBool {
			return cellText
		}
		fallthrough
	case cellInt:
		// An integer that 64 bits cannot hold stays one, so that the conversion refuses
		// it: as a float it would lose digits.
		if _, err := strconv.ParseInt(cell, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return cellInt
		}
		fallthrough
	case cellFloat:
		if _, err := strconv.ParseFloat(cell, 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return cellFloat
		}
	}
	return cellText
}

// surveyCSV reads a file and finds the kinds of its columns.
func surveyCSV(ctx context.Context, path string, comma rune) (*survey, error) {
	f, err := readCSV(path, comma)
	if err != nil {
		return nil, err
	}
	defer f.file.Close()
	f.reader.ReuseRecord = true
	s := &survey{columns: make([]Column, len(f.names))}
	kinds, empty := make([]int, len(f.names)), make([]bool, len(f.names))
	for {
		cells, err := f.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if s.rows++; s.rows%4096 == 0 && ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "conversion")
		}
		for i, cell := range cells {
			if cell == "" {
				empty[i] = true
				continue
			}
			if kinds[i] == cellText {
				continue
			}
			kind := kindOfCell(cell, kinds[i])
			if kind == cellText && kinds[i] != cellNone {
				s.notes = append(s.notes, fmt.Sprintf("%s: column %s is stored as text because of row %d: %s; --manifest can refuse it",
					millrace.Quote(path), millrace.QuoteData([]byte(f.names[i])), s.rows, millrace.QuoteData([]byte(cell))))
			}
			kinds[i] = kind
		}
	}
	for i, name := range f.names {
		s.columns[i] = cellKinds[kinds[i]]
		s.columns[i].Name = name
		s.columns[i].Optional = empty[i] && kinds[i] != cellText // an empty text is a text
	}
	return s, nil
}

// csvSource reads blocks of lines.
type csvSource struct {
	*csvFile
	columns []Column
	at      []int // for each column its place in a line, -1: it is not there
	row     int64
}

func openCSV(path string, comma rune, columns []Column) (source, error) {
	f, err := readCSV(path, comma)
	if err != nil {
		return nil, err
	}
	s := &csvSource{csvFile: f, columns: columns}
	for _, c := range columns {
		s.at = append(s.at, slices.Index(f.names, c.Name))
	}
	return s, nil
}

func (s *csvSource) Close() error { return s.file.Close() }

// blockRows is the number of rows of a block.
const blockRows = 512

func (s *csvSource) next() (block, error) {
	b := &csvBlock{columns: s.columns, at: s.at, first: s.row + 1, lines: make([][]string, 0, blockRows)}
	for len(b.lines) < blockRows {
		cells, err := s.read()
		if err == io.EOF && len(b.lines) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		b.lines = append(b.lines, cells)
	}
	s.row += int64(len(b.lines))
	return b, nil
}

// csvBlock is a number of lines.
type csvBlock struct {
	columns []Column
	at      []int
	first   int64
	lines   [][]string
}

func (b *csvBlock) rows() int       { return len(b.lines) }
func (b *csvBlock) row(i int) int64 { return b.first + int64(i) }

func (b *csvBlock) read(v *values, column, row int) error {
	at, c := b.at[column], &b.columns[column]
	if at < 0 {
		v.missing = true
		return nil
	}
	cell := b.lines[row][at]
	if cell == "" && c.Stored != spec.String && c.Stored != "" {
		v.missing = true
		return nil
	}
	return v.parse(cell, c)
}

// parse adds the value that a text stands for.
func (v *values) parse(text string, c *Column) error {
	switch c.Stored {
	case spec.Int:
		x, err := strconv.ParseInt(text, 10, 64)
		if err != nil && c.DType == "bool" && (text == "true" || text == "false") {
			err = nil
			if text == "true" {
				x = 1
			}
		}
		if errors.Is(err, strconv.ErrRange) {
			return textError(text, c.Stored, errors.New("does not fit 64 bits; declare the column as float or string in a --manifest"))
		}
		if err != nil {
			return textError(text, c.Stored, nil)
		}
		v.ints = append(v.ints, x)
	case spec.Float:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return textError(text, c.Stored, nil)
		}
		return v.float(x)
	default:
		v.texts = append(v.texts, []byte(text))
	}
	return nil
}
