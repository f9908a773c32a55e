package cli

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/dtype"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/loaders/stage/order"
)

// The columns of --provenance. Messages and ledgers of bad records name records in the
// same way.
const (
	fileColumn   = "file"
	recordColumn = "record"
)

// ProvenanceFlag is --provenance: two more columns with the place of each row's record.
type ProvenanceFlag struct {
	Given bool

	paths  map[string]string // absolute ones, by those of the loader
	base64 bool              // the path of a file is not UTF-8, so JSON cannot have it as text
}

// Add declares the flag.
func (f *ProvenanceFlag) Add(c *cobra.Command) {
	c.Flags().BoolVar(&f.Given, "provenance", false, `also write which record each row is: its file, as "file", and its number there from 0, as "record"`)
}

// Check refuses a plan whose rows have no known places, and tensors with the names of
// the columns.
func (f *ProvenanceFlag) Check(plan *loaders.Plan, tensors []dtype.TensorSpec, hint string) error {
	if !f.Given {
		return nil
	}
	for _, t := range tensors {
		if t.Name == fileColumn || t.Name == recordColumn {
			e := millrace.Errorf(millrace.ErrConfig, "is the name of a column of --provenance, too; %s", hint)
			e.Tensor = t.Name
			return e
		}
	}
	if err := order.CheckPlaces(plan.Engine()); err != nil {
		return err
	}
	f.paths = make(map[string]string, len(plan.Files))
	for _, file := range plan.Files {
		path, err := filepath.Abs(file.Path) // the output is read elsewhere, too
		if err != nil {
			return err
		}
		f.paths[file.Path] = path
		f.base64 = f.base64 || !utf8.ValidString(path)
	}
	return nil
}

// Specs returns the columns.
func (f *ProvenanceFlag) Specs() []dtype.TensorSpec {
	if !f.Given {
		return nil
	}
	return []dtype.TensorSpec{
		{Name: fileColumn, DType: dtype.String, Shape: dtype.MakeShape()},
		{Name: recordColumn, DType: dtype.Int64, Shape: dtype.MakeShape()},
	}
}

// Append appends the columns of a batch.
func (f *ProvenanceFlag) Append(cols []output.Column, b *loaders.Batch) []output.Column {
	if !f.Given {
		return cols
	}
	places := b.Places()
	files, records := make([]string, len(places)), make([]byte, 0, 8*len(places))
	for i, p := range places {
		files[i] = f.paths[p.File]
		records = binary.LittleEndian.AppendUint64(records, uint64(p.Record))
	}
	shape := []int64{int64(len(places))}
	return append(cols,
		output.Column{Name: fileColumn, DType: dtype.String, Shape: shape, Strings: files, Text: !f.base64},
		output.Column{Name: recordColumn, DType: dtype.Int64, Shape: slices.Clone(shape), Data: records})
}
