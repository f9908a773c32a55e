package convert

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"millrace"
)

var ndjsonFormat = &format{name: "NDJSON", extensions: []string{".ndjson", ".jsonl"}, survey: surveyNDJSON, open: openNDJSON}

// ndjsonFile reads the objects of a file, one per line.
type ndjsonFile struct {
	path string
	file inputFile
	in   *bufio.Reader
	rest []byte // a line that does not fit the buffer of in
	line int64
}

func readNDJSON(path string) (*ndjsonFile, error) {
	file, _, err := openInput(path)
	if err != nil {
		return nil, err
	}
	f := &ndjsonFile{path: path, file: file, in: bufio.NewReaderSize(file, 1<<18)}
	head, _ := f.in.Peek(1 << 16)
	if problem := textProblem(head); problem != "" {
		file.Close()
		return nil, dataError(path, "%s", problem)
	}
	return f, nil
}

// read returns the next line that is not blank. It is valid until the next call.
func (f *ndjsonFile) read() ([]byte, error) {
	for {
		line, err := f.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			line, err = f.long(line)
		}
		if err != nil && err != io.EOF {
			return nil, err
		}
		if len(line) == 0 {
			return nil, io.EOF
		}
		f.line++
		if f.line == 1 {
			line = bytes.TrimPrefix(line, byteOrderMark)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// long returns a line that does not fit the buffer.
func (f *ndjsonFile) long(start []byte) ([]byte, error) {
	f.rest = append(f.rest[:0], start...)
	for {
		more, err := f.in.ReadSlice('\n')
		f.rest = append(f.rest, more...)
		switch {
		case len(f.rest) > maxLine:
			return nil, lineError(f.path, f.line+1, "")
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && err != io.EOF:
			return nil, ioError(f.path, err)
		default:
			return f.rest, nil
		}
	}
}

// surveyNDJSON reads a file and finds the keys of its objects.
func surveyNDJSON(ctx context.Context, path string) (*survey, error) {
	f, err := readNDJSON(path)
	if err != nil {
		return nil, err
	}
	defer f.file.Close()
	s := &survey{}
	found := make(map[string]*seen)
	var o jsonObject
	for {
		line, err := f.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := o.parse(line, false); err != nil {
			return nil, dataError(path, "line %d: %w", f.line, err)
		}
		if s.rows++; s.rows%1024 == 0 && ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "conversion")
		}
		for _, field := range o.fields {
			if err := see(found, field); err != nil {
				return nil, cellError(path, f.line, field.name, err)
			}
		}
		if len(found) > maxColumns {
			return nil, tooManyColumns(path)
		}
	}
	for name, c := range found {
		c.Name, c.Optional = name, c.rows < s.rows
		s.columns = append(s.columns, c.Column)
	}
	slices.SortFunc(s.columns, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// seen has the known properties of a column.
type seen struct {
	Column
	rows int64 // number of rows with a value
}

// see merges a value into the properties of its column.
func see(found map[string]*seen, field jsonField) error {
	c, _, err := columnOfJSON(field.text)
	if err != nil {
		return err
	}
	known, ok := found[field.name]
	if !ok {
		known = &seen{Column: c}
		found[field.name] = known
	}
	if field.text[0] != 'n' {
		known.rows++
	}
	if known.Stored == c.Stored && known.DType == c.DType && slices.Equal(known.Shape, c.Shape) {
		return nil
	}
	whole, ok := merge(known.Column, c, false)
	if !ok {
		return fmt.Errorf("%s of shape %v, after %s of shape %v in the rows before", c.DType, c.Shape, known.DType, known.Shape)
	}
	known.Column = whole
	return nil
}

// ndjsonSource reads blocks of lines.
type ndjsonSource struct {
	*ndjsonFile
	columns []Column
}

func openNDJSON(path string, columns []Column) (source, error) {
	f, err := readNDJSON(path)
	if err != nil {
		return nil, err
	}
	return &ndjsonSource{f, columns}, nil
}

func (s *ndjsonSource) Close() error { return s.file.Close() }

func (s *ndjsonSource) next() (block, error) {
	b := &ndjsonBlock{columns: s.columns, parsed: -1}
	for len(b.ends) < blockRows && len(b.text) < csvBytes {
		line, err := s.read()
		if err == io.EOF && len(b.ends) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		b.text = append(b.text, line...)
		b.ends, b.numbers = append(b.ends, len(b.text)), append(b.numbers, s.line)
	}
	return b, nil
}

// ndjsonBlock is a number of lines. Each is parsed when its first column is read.
type ndjsonBlock struct {
	columns []Column
	text    []byte // the lines, concatenated
	ends    []int  // end of each line
	numbers []int64
	parsed  int // the row that is parsed in object
	object  jsonObject
	at      []int // field index of each column in that row, -1: missing
}

func (b *ndjsonBlock) rows() int       { return len(b.ends) }
func (b *ndjsonBlock) row(i int) int64 { return b.numbers[i] }
func (b *ndjsonBlock) size() int64     { return int64(cap(b.text)) }

func (b *ndjsonBlock) read(v *values, column, row int) error {
	if row != b.parsed {
		if err := b.parse(row, v.InvalidUTF8 == ReplaceInvalid); err != nil {
			return err
		}
	}
	at := b.at[column]
	if at < 0 || b.object.fields[at].text[0] == 'n' {
		v.missing = true
		return nil
	}
	c := &b.columns[column]
	_, err := v.json(b.object.fields[at].text, c, kindOf(c.Stored))
	return err
}

// parse cuts a line, and finds the columns in it. Most lines have the same keys as the
// line before, in the same order.
func (b *ndjsonBlock) parse(row int, replace bool) error {
	start := 0
	if row > 0 {
		start = b.ends[row-1]
	}
	if err := b.object.parse(b.text[start:b.ends[row]], replace); err != nil {
		return err
	}
	b.parsed = row
	if b.at == nil {
		b.at = make([]int, len(b.columns))
	}
	var places map[string]int // key: a key of the object; made for the first column that has moved
	fields := b.object.fields
	for i := range b.columns {
		name := b.columns[i].Name
		if at := b.at[i]; at >= 0 && at < len(fields) && fields[at].name == name {
			continue
		}
		if places == nil {
			places = make(map[string]int, len(fields))
			for at := range fields {
				places[fields[at].name] = at
			}
		}
		at, ok := places[name]
		if !ok {
			at = -1
		}
		b.at[i] = at
	}
	return nil
}
