package dataset

import (
	"reflect"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// CSVField is a column that [CSV] reads.
type CSVField struct {
	Name    string            // name of the field in an element; set for all fields or for none
	DType   tfbridge.DataType // Float, Double, Int32, Int64 or String
	Default any               // value of empty and NA fields, a scalar for [tfbridge.NewTensor]; nil: such a field is an error
}

// CSVOptions are the options of [CSV].
type CSVOptions struct {
	Header      bool    // skip the first line of every file
	Delimiter   string  // one character; default ","
	NoQuotes    bool    // treat double quotes as ordinary characters
	NA          string  // text that marks a missing value, like an empty field
	Columns     []int64 // column indices of the fields, from 0, ascending; nil: all, in order
	Compression string  // "" none, "GZIP" or "ZLIB"
	BufferBytes int64   // bytes per read; default 256 KiB
}

// CSV returns the lines of files of comma-separated values. Each line is an element of
// scalars: a tuple in the order of the columns, or fields if they have names. The
// filenames are a scalar or a vector of strings; files are read one after the other. A
// line with another number of columns, or a value of another type, is an error of code
// InvalidArgument instead of an element.
//
// It wraps CSVDatasetV2, and a map for fields with names.
func CSV(s *graph.Scope, filenames tfbridge.Output, fields []CSVField, o *CSVOptions) *Dataset {
	if o == nil {
		o = &CSVOptions{}
	}
	s.UpdateErr("CSV", o.check(fields))
	compression(s, "CSV", o.Compression)
	buffer := readBuffer(s, "CSV", o.BufferBytes)
	specs := make([]graph.Spec, len(fields))
	defaults := make(tfbridge.OutputList, len(fields))
	for i, f := range fields {
		specs[i] = graph.Spec{DType: f.DType, Shape: tfbridge.ScalarShape()}
		defaults[i] = f.defaultInput(s)
	}
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	delimiter := o.Delimiter
	if delimiter == "" {
		delimiter = ","
	}
	d := made(s, specs, s.Op1("CSVDatasetV2",
		map[string]any{"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs)},
		filenames, s.Const(o.Compression), buffer, s.Const(o.Header), s.Const(delimiter), s.Const(!o.NoQuotes),
		s.Const(o.NA), s.Const(append([]int64{}, o.Columns...)), defaults, s.Const([]int64{})))
	return d.named(fields)
}

// check reports invalid fields and columns.
func (o *CSVOptions) check(fields []CSVField) error {
	switch {
	case len(fields) == 0:
		return millrace.Errorf(millrace.ErrModel, "there are no fields")
	case len(o.Delimiter) > 1:
		return millrace.Errorf(millrace.ErrModel, "delimiter %q is more than one byte", o.Delimiter)
	case o.Columns != nil && len(o.Columns) != len(fields):
		return millrace.Errorf(millrace.ErrModel, "%d columns for %d fields", len(o.Columns), len(fields))
	}
	for i, column := range o.Columns {
		if column < 0 || i > 0 && column <= o.Columns[i-1] {
			return millrace.Errorf(millrace.ErrModel, "columns %v are not ascending from 0", o.Columns)
		}
	}
	names := map[string]bool{}
	for i, f := range fields {
		if f.Name != "" && names[f.Name] {
			return millrace.Errorf(millrace.ErrModel, "two fields are named %q", f.Name)
		}
		if (f.Name == "") != (fields[0].Name == "") {
			return millrace.Errorf(millrace.ErrModel, "field %d: some fields have names and some have none", i)
		}
		names[f.Name] = true
		switch f.DType {
		case tfbridge.Float, tfbridge.Double, tfbridge.Int32, tfbridge.Int64, tfbridge.String:
		default:
			return millrace.Errorf(millrace.ErrModel, "field %d is a %v, must be float32, float64, int32, int64 or string", i, f.DType)
		}
	}
	return nil
}

// defaultInput returns the record_defaults input of a field: an empty vector if the field is
// required.
func (f *CSVField) defaultInput(s *graph.Scope) tfbridge.Output {
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	if f.Default == nil {
		return s.Zeros(f.DType, 0)
	}
	value := s.Const(plainValue(reflect.ValueOf(f.Default)).Interface())
	if s.Err() == nil && (value.DataType() != f.DType || value.Shape().NumDimensions() != 0) {
		s.UpdateErr("CSV", millrace.Errorf(millrace.ErrModel, "field %q is a %v, its default %v a %v",
			f.Name, f.DType, f.Default, graph.SpecOf(value)))
	}
	return graph.Reshape(s, value, s.Const([]int64{1}))
}

// named names the components of d after fields, in their order.
func (d *Dataset) named(fields []CSVField) *Dataset {
	if d.scope.Err() != nil || fields[0].Name == "" {
		return d
	}
	order := make([]int, len(fields))
	parts := map[string]*Structure{}
	for i, f := range fields {
		order[i] = i
		parts[f.Name] = DenseSpec(f.DType, tfbridge.ScalarShape())
	}
	byName := func(a, b int) int {
		if fields[a].Name < fields[b].Name {
			return -1
		}
		return 1
	}
	if !slices.IsSortedFunc(order, byName) {
		slices.SortFunc(order, byName)
		d = d.Map("fields", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			sorted := make([]tfbridge.Output, len(args))
			for i, at := range order {
				sorted[i] = args[at]
			}
			return sorted
		}, nil)
	}
	return d.as(FieldsSpec(parts))
}

// SQL returns the rows of a query to an SQLite database. Each row is an element of
// scalars of the given types: a tuple in the order of the query's columns. The file and
// the query are string scalars. It wraps SqlDataset.
func SQL(s *graph.Scope, file, query tfbridge.Output, columns ...tfbridge.DataType) *Dataset {
	if len(columns) == 0 {
		s.UpdateErr("SQL", millrace.Errorf(millrace.ErrModel, "there are no columns"))
	}
	specs := make([]graph.Spec, len(columns))
	for i, dtype := range columns {
		specs[i] = graph.Spec{DType: dtype, Shape: tfbridge.ScalarShape()}
	}
	return add(s, "SqlDataset", specs, nil, s.Const("sqlite"), file, query)
}
