package dataset

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/regularfile"
	"millrace/tfbridge"
)

// MakeCSVOptions are the options of [MakeCSVDataset]. Nil and the zero value mean the
// defaults.
type MakeCSVOptions struct {
	Fields        []CSVField // one per column, in order; nil: inferred from the files, see [InferCSV]
	Select        []string   // the columns to read, by name; nil: all
	Label         string     // the column that is the second part of each element; "": elements have one part
	Epochs        int64      // number of passes over the files; 0: endless
	InOrder       bool       // do not shuffle files and rows
	ShuffleBuffer int64      // size of the shuffle buffer in rows; default 10000
	Seed, Seed2   int64      // seeds of the shuffle, see [ShuffleOptions]
	ParallelReads int64      // files read at a time; default 1
	SkipBadRows   bool       // skip rows that do not fit instead of failing

	NoHeader    bool   // the files have no header line; Fields is required
	Delimiter   string // one character; default ","
	NoQuotes    bool   // treat double quotes as ordinary characters
	NA          string // text that marks a missing value, like an empty field
	Compression string // "" none, "GZIP" or "ZLIB"; names and types are not inferred from "ZLIB"
}

// MakeCSVDataset returns batches of the rows of CSV files, like Python's make_csv_dataset:
// fields by the names of the columns, or with Label a tuple of the fields and the label.
// patterns are file names or patterns of [filepath.Glob]; MakeCSVDataset looks the files up
// at once. By default files and rows are shuffled, and repeated endlessly. The last batch
// of the last epoch may be smaller.
//
// It wraps CSVDatasetV2, ShuffleDatasetV3, RepeatDataset, BatchDatasetV2 and PrefetchDataset.
func MakeCSVDataset(s *graph.Scope, patterns []string, batchSize int64, o *MakeCSVOptions) *Dataset {
	const what = "MakeCSVDataset"
	if o == nil {
		o = &MakeCSVOptions{}
	}
	files, err := matching(patterns)
	fields := o.Fields
	if err == nil && fields == nil {
		fields, err = InferCSV(files, o)
	}
	var columns []int64
	if err == nil {
		fields, columns, err = o.selected(fields)
	}
	s.UpdateErr(what, err)
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	read := &CSVOptions{Header: !o.NoHeader, Delimiter: o.Delimiter, NoQuotes: o.NoQuotes, NA: o.NA, Columns: columns, Compression: o.Compression}
	names := FromSlices(s, s.Const(files))
	shuffle := &ShuffleOptions{Seed: o.Seed, Seed2: o.Seed2}
	if !o.InOrder {
		names = names.Shuffle(int64(len(files)), shuffle)
	}
	rows := names.Interleave("files", func(s *graph.Scope, args []tfbridge.Output) *Dataset {
		d := CSV(s, args[0], fields, read)
		if o.SkipBadRows {
			d = d.IgnoreErrors()
		}
		return d
	}, &InterleaveOptions{CycleLength: max(1, o.ParallelReads), BlockLength: 1, Parallel: parallelReads(o.ParallelReads)})
	if !o.InOrder {
		rows = rows.Shuffle(cmp.Or(o.ShuffleBuffer, 10000), shuffle)
	}
	return rows.Repeat(cmp.Or(o.Epochs, -1)).Batch(batchSize, o.Epochs == 0).labelled(o.Label).Prefetch(Autotune)
}

// parallelReads returns the number of threads that read n files at a time: 0 for one file.
// n may be [Autotune].
func parallelReads(n int64) int64 {
	if n == 0 || n == 1 {
		return 0
	}
	return n
}

// matching returns the files that patterns match, sorted.
func matching(patterns []string) ([]string, error) {
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrIO, "pattern %q: %w", pattern, err)
		}
		if len(found) == 0 {
			return nil, millrace.Errorf(millrace.ErrIO, "no file matches %q", pattern)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, millrace.Errorf(millrace.ErrIO, "there are no files")
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// selected returns the fields to read and their columns, nil for all.
func (o *MakeCSVOptions) selected(fields []CSVField) ([]CSVField, []int64, error) {
	var chosen []CSVField
	var columns []int64
	for i, f := range fields {
		if o.Select == nil || slices.Contains(o.Select, f.Name) {
			chosen, columns = append(chosen, f), append(columns, int64(i))
		}
	}
	named := func(name string) func(CSVField) bool { return func(f CSVField) bool { return f.Name == name } }
	for _, name := range o.Select {
		if !slices.ContainsFunc(fields, named(name)) {
			return nil, nil, millrace.Errorf(millrace.ErrModel, "there is no column %q to select", name)
		}
	}
	if o.Label != "" && !slices.ContainsFunc(chosen, named(o.Label)) {
		return nil, nil, millrace.Errorf(millrace.ErrModel, "there is no column %q for the label", o.Label)
	}
	if o.Select == nil {
		columns = nil
	}
	return chosen, columns, nil
}

// labelled makes a field the second part of each element.
func (d *Dataset) labelled(label string) *Dataset {
	if d.scope.Err() != nil || label == "" {
		return d
	}
	t := d.Spec()
	at := slices.Index(t.Keys, label)
	features := map[string]*Structure{}
	for i, key := range t.Keys {
		if i != at {
			features[key] = t.Parts[i]
		}
	}
	return d.Map("label", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return append(slices.Delete(slices.Clone(args), at, at+1), args[at])
	}, nil).as(TupleSpec(FieldsSpec(features), t.Parts[at]))
}

// inferredRows is the number of rows that InferCSV reads.
const inferredRows = 100

// InferCSV returns the fields of CSV files: the first line has the names, and must be
// the same in all files. A field's type is the first of Int32, Int64, Float, Double and
// String that can represent all its values in the first 100 rows, as in Python, except
// that inf and nan are numbers. Missing values become 0 or "".
func InferCSV(files []string, o *MakeCSVOptions) ([]CSVField, error) {
	if o == nil {
		o = &MakeCSVOptions{}
	}
	if o.NoHeader {
		return nil, millrace.Errorf(millrace.ErrModel, "files without a line of names need Fields")
	}
	var names []string
	var types []int
	rows := 0
	for _, file := range files {
		header, err := o.eachRow(file, inferredRows-rows, func(row []string) {
			rows++
			if types == nil {
				types = make([]int, len(row))
			}
			for i, text := range row {
				types[i] = widened(types[i], text, o.NA)
			}
		})
		if err != nil {
			return nil, err
		}
		if names == nil {
			names = header
		}
		if !slices.Equal(names, header) {
			return nil, millrace.Errorf(millrace.ErrModel, "%s: the columns are %q, in %s they are %q", file, header, files[0], names)
		}
	}
	fields := make([]CSVField, len(names))
	for i, name := range names {
		kind := csvKinds[len(csvKinds)-1]
		if types != nil && types[i] > 0 {
			kind = csvKinds[types[i]-1]
		}
		fields[i] = CSVField{Name: name, DType: kind.dtype, Default: kind.missing}
	}
	return fields, nil
}

// eachRow reads the header line of a file and calls fn for up to n rows.
func (o *MakeCSVOptions) eachRow(file string, n int, fn func(row []string)) (header []string, err error) {
	f, _, err := regularfile.OpenFile(file)
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrIO, "%w", err)
	}
	defer f.Close()
	var in io.Reader = f
	switch o.Compression {
	case "":
	case "GZIP":
		if in, err = gzip.NewReader(f); err != nil {
			return nil, millrace.Errorf(millrace.ErrCorrupt, "%s: gzip: %w", file, err)
		}
	default:
		return nil, millrace.Errorf(millrace.ErrModel, "names and types are not inferred from files of compression %q; give Fields", o.Compression)
	}
	r := csv.NewReader(in)
	r.LazyQuotes = true
	if o.Delimiter != "" {
		r.Comma = []rune(o.Delimiter)[0]
	}
	if header, err = r.Read(); err != nil {
		return nil, millrace.Errorf(millrace.ErrCorrupt, "%s: the line of names: %w", file, err)
	}
	for ; n > 0; n-- {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return header, nil
		}
		if err != nil {
			return nil, millrace.Errorf(millrace.ErrCorrupt, "%s: %w", file, err)
		}
		fn(row)
	}
	return header, nil
}

// csvKinds are the possible types of a column, the narrowest first.
var csvKinds = []struct {
	dtype   tfbridge.DataType
	missing any
	has     func(text string) bool
}{
	{tfbridge.Int32, int32(0), func(text string) bool { _, err := strconv.ParseInt(text, 10, 32); return err == nil }},
	{tfbridge.Int64, int64(0), func(text string) bool { _, err := strconv.ParseInt(text, 10, 64); return err == nil }},
	{tfbridge.Float, float32(0), func(text string) bool { _, err := strconv.ParseFloat(text, 32); return err == nil }},
	{tfbridge.Double, float64(0), func(text string) bool { _, err := strconv.ParseFloat(text, 64); return err == nil }},
	{tfbridge.String, "", func(string) bool { return true }},
}

// widened returns the index, from 1, of the narrowest type that can represent text and the
// values before it; 0 means that there was no value.
func widened(kind int, text, missing string) int {
	if text == "" || text == missing {
		return kind
	}
	for i := max(kind-1, 0); ; i++ {
		if csvKinds[i].has(text) {
			return i + 1
		}
	}
}
