package lookup

import (
	"cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Initializer describes the content of a table.
type Initializer struct {
	key, value tfbridge.DataType
	what       string // name in messages
	err        error
	add        func(s *graph.Scope, table tfbridge.Output) *tfbridge.Operation
}

// KeyValueTensorInitializer fills a table with keys and their values, two vectors of
// one length. A key that occurs twice with different values is an error of code
// FailedPrecondition when the table is filled.
//
// It wraps InitializeTableV2.
func KeyValueTensorInitializer(keys, values tfbridge.Output) *Initializer {
	return &Initializer{
		key: keys.DataType(), value: values.DataType(), what: "KeyValueTensorInitializer",
		add: func(s *graph.Scope, table tfbridge.Output) *tfbridge.Operation {
			return s.AddOperation(tfbridge.OpSpec{Type: "InitializeTableV2", Input: []tfbridge.Input{table, keys, values}})
		},
	}
}

// Column is a part of each line of a text file: the column of an index from 0,
// [WholeLine] or [LineNumber].
type Column struct {
	DType tfbridge.DataType
	Index int64
}

// Special indexes of a [Column].
const (
	WholeLine  = -2 // the line itself, a String
	LineNumber = -1 // the number of the line from 0, an Int64
)

// TextFileOptions are the options of [TextFileInitializer]. Nil and the zero value
// mean the defaults.
type TextFileOptions struct {
	VocabSize int64  // how many lines to read; 0: all
	Delimiter string // between columns, one byte; "": a tab
	Offset    int64  // added to line numbers
}

// TextFileInitializer fills a table with the lines of a file, whose name is a
// scalar string. A vocabulary with a word in each line maps words to line numbers:
//
//	lookup.TextFileInitializer(s.Const("vocab.txt"),
//		lookup.Column{DType: tfbridge.String, Index: lookup.WholeLine},
//		lookup.Column{DType: tfbridge.Int64, Index: lookup.LineNumber}, nil)
//
// The file is read when the table is filled. It wraps
// InitializeTableFromTextFileV2.
func TextFileInitializer(filename tfbridge.Output, key, value Column, o *TextFileOptions) *Initializer {
	if o == nil {
		o = &TextFileOptions{}
	}
	delimiter := cmp.Or(o.Delimiter, "\t")
	t := &Initializer{key: key.DType, value: value.DType, what: "TextFileInitializer"}
	t.err = cmp.Or(key.check("key"), value.check("value"))
	switch {
	case t.err != nil:
	case len(delimiter) != 1:
		t.err = millrace.Errorf(millrace.ErrModel, "the delimiter %q has %d bytes, must have one", delimiter, len(delimiter))
	case o.VocabSize < 0:
		t.err = millrace.Errorf(millrace.ErrModel, "VocabSize is %d, must not be negative", o.VocabSize)
	}
	attrs := map[string]any{
		"key_index": key.Index, "value_index": value.Index,
		"vocab_size": cmp.Or(o.VocabSize, -1), "delimiter": delimiter, "offset": o.Offset,
	}
	t.add = func(s *graph.Scope, table tfbridge.Output) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{
			Type: "InitializeTableFromTextFileV2", Attrs: attrs, Input: []tfbridge.Input{table, filename},
		})
	}
	return t
}

// check fails for a column that lines do not have, and for a column of the wrong data
// type.
func (c Column) check(what string) error {
	switch {
	case c.Index < WholeLine:
		return millrace.Errorf(millrace.ErrModel, "the %s's column is %d; it must be from 0, WholeLine or LineNumber", what, c.Index)
	case c.Index == WholeLine && c.DType != tfbridge.String:
		return millrace.Errorf(millrace.ErrModel, "the %s is the whole line, a string, and not a %v", what, c.DType)
	case c.Index == LineNumber && c.DType != tfbridge.Int64:
		return millrace.Errorf(millrace.ErrModel, "the %s is the line number, an int64, and not a %v", what, c.DType)
	}
	return nil
}

// DatasetInitializer fills a table with the elements of a dataset, each a key and its
// value, two scalars. A vocabulary is numbered like this:
//
//	words.Enumerate(0).Map("swap", func(_ *graph.Scope, a []tfbridge.Output) []tfbridge.Output {
//		return []tfbridge.Output{a[1], a[0]}
//	}, nil)
//
// The dataset is read when the table is filled. A key that occurs twice with different
// values is then an error of code FailedPrecondition. It wraps
// InitializeTableFromDataset.
func DatasetInitializer(d *dataset.Dataset) *Initializer {
	t := &Initializer{what: "DatasetInitializer"}
	specs := d.Specs()
	if len(specs) != 2 || specs[0].Shape.NumDimensions() != 0 || specs[1].Shape.NumDimensions() != 0 {
		t.err = millrace.Errorf(millrace.ErrModel, "the elements are %v, must be two scalars: a key and its value", specs)
		return t
	}
	t.key, t.value = specs[0].DType, specs[1].DType
	t.add = func(s *graph.Scope, table tfbridge.Output) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "InitializeTableFromDataset", Input: []tfbridge.Input{table, d.Variant()}})
	}
	return t
}
