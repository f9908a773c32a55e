package convert

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"millrace"
	"millrace/internal/regular"
	"millrace/loaders/spec"
)

var ndjsonFormat = &format{name: "NDJSON", extensions: []string{".ndjson", ".jsonl"}, survey: surveyNDJSON, open: openNDJSON}

// ndjsonFile reads the objects of a file, one a line.
type ndjsonFile struct {
	path string
	file *os.File
	in   *bufio.Reader
	line int64
}

func readNDJSON(path string) (*ndjsonFile, error) {
	file, _, err := regular.OpenFile(path)
	if err != nil {
		return nil, ioError(path, err)
	}
	return &ndjsonFile{path: path, file: file, in: bufio.NewReaderSize(file, 1<<18)}, nil
}

// read returns the next line that is not blank.
func (f *ndjsonFile) read() ([]byte, error) {
	for {
		line, err := f.in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, ioError(f.path, err)
		}
		if len(line) == 0 {
			return nil, io.EOF
		}
		f.line++
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// object parses a line.
func object(line []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var o map[string]any
	if err := d.Decode(&o); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the object does not end on its line")
		}
		return nil, fmt.Errorf("%w; each line must be a JSON object", err)
	}
	if o == nil || d.More() {
		return nil, errors.New("each line must be one JSON object")
	}
	return o, nil
}

// surveyNDJSON reads a file and finds the keys of its objects.
func surveyNDJSON(ctx context.Context, path string) (*survey, error) {
	f, err := readNDJSON(path)
	if err != nil {
		return nil, err
	}
	defer f.file.Close()
	s := &survey{}
	found := make(map[string]*Column)
	seen := make(map[string]int64) // rows with a value
	for {
		line, err := f.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		o, err := object(line)
		if err != nil {
			return nil, dataError(path, "line %d: %w", f.line, err)
		}
		if s.rows++; s.rows%1024 == 0 && ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "conversion")
		}
		for key, value := range o {
			if err := see(found, key, value); err != nil {
				return nil, cellError(path, f.line, key, err)
			}
			if value != nil {
				seen[key]++
			}
		}
	}
	for name, c := range found {
		c.Optional = seen[name] < s.rows
		s.columns = append(s.columns, *c)
	}
	slices.SortFunc(s.columns, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// see adds a value to what is known of its column.
func see(found map[string]*Column, key string, value any) error {
	c, err := columnOfJSON(value)
	if err != nil {
		return err
	}
	known, ok := found[key]
	if !ok {
		c.Name = key
		found[key] = &c
		return nil
	}
	if known.Stored == c.Stored && known.DType == c.DType && slices.Equal(known.Shape, c.Shape) {
		return nil
	}
	whole, ok := merge(*known, c, false)
	if !ok {
		return fmt.Errorf("%s of shape %v, after %s of shape %v in the rows before", c.DType, c.Shape, known.DType, known.Shape)
	}
	*known = whole
	return nil
}

// columnOfJSON returns the column that holds a value.
func columnOfJSON(value any) (Column, error) {
	switch v := value.(type) {
	case nil:
		return Column{Shape: []int64{}}, nil
	case bool:
		return scalar("", spec.Int, "bool"), nil
	case string:
		return scalar("", spec.String, "string"), nil
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return scalar("", spec.Float, "float32"), nil
		}
		return scalar("", spec.Int, "int64"), nil
	case []any:
		return columnOfList(v)
	}
	return Column{}, errors.New("an object; make its keys columns of their own")
}

// columnOfList returns the column that holds a list.
func columnOfList(list []any) (Column, error) {
	var c Column
	for i, e := range list {
		one, err := columnOfJSON(e)
		if err != nil {
			return c, err
		}
		if one.Stored == "" && len(one.Shape) == 0 {
			return c, errors.New("null in a list; a list of numbers has no place without a value")
		}
		if i == 0 {
			c = one
			continue
		}
		if !slices.Equal(c.Shape, one.Shape) {
			return c, fmt.Errorf("the lists in a list have different shapes, %v and %v; a feature has one shape, whose first dimension alone may vary", c.Shape, one.Shape)
		}
		whole, ok := merge(c, one, false)
		if !ok {
			return c, fmt.Errorf("%s and %s in one list", c.DType, one.DType)
		}
		c = whole
	}
	c.Shape = append([]int64{int64(len(list))}, c.Shape...)
	return c, nil
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
	for len(b.lines) < blockRows {
		line, err := s.read()
		if err == io.EOF && len(b.lines) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		b.lines, b.numbers = append(b.lines, line), append(b.numbers, s.line)
	}
	return b, nil
}

// ndjsonBlock is a number of lines. Each is parsed when its first column is read.
type ndjsonBlock struct {
	columns []Column
	lines   [][]byte
	numbers []int64
	parsed  int // the row that object holds
	object  map[string]any
}

func (b *ndjsonBlock) rows() int       { return len(b.lines) }
func (b *ndjsonBlock) row(i int) int64 { return b.numbers[i] }

func (b *ndjsonBlock) read(v *values, column, row int) error {
	if row != b.parsed {
		o, err := object(b.lines[row])
		if err != nil {
			return err
		}
		b.object, b.parsed = o, row
	}
	c := &b.columns[column]
	value := b.object[c.Name]
	if value == nil {
		v.missing = true
		return nil
	}
	return v.json(value, c)
}

// json adds the values of a JSON value.
func (v *values) json(value any, c *Column) error {
	switch x := value.(type) {
	case []any:
		for _, e := range x {
			if err := v.json(e, c); err != nil {
				return err
			}
		}
		return nil
	case bool:
		if c.Stored == spec.Int {
			v.ints = append(v.ints, map[bool]int64{true: 1}[x])
			return nil
		}
		return fmt.Errorf("%v does not fit %s", x, c.DType)
	case string:
		if c.Stored != spec.String && c.Stored != "" {
			return textError(x, c.Stored, nil)
		}
		v.texts = append(v.texts, []byte(x))
		return nil
	case json.Number:
		if c.Stored == spec.String {
			return fmt.Errorf("the number %s does not fit string", x)
		}
		if c.Stored == spec.Int && strings.ContainsAny(x.String(), ".eE") {
			f, err := strconv.ParseFloat(x.String(), 64)
			if err != nil || f != float64(int64(f)) {
				return textError(x.String(), c.Stored, nil)
			}
			v.ints = append(v.ints, int64(f))
			return nil
		}
		return v.parse(x.String(), c)
	}
	return errors.New("an object does not fit a feature; make its keys columns of their own")
}
