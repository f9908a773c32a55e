package output

import (
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"millrace"
	"millrace/dtype"
)

// groupBytes is the size of a row group, uncompressed. A row group stays in
// memory until it is complete.
const groupBytes = 64 << 20

// table writes a Parquet file: a column for each tensor, a LIST for each
// dimension of a row. It uses arrow-go's column writers. The Arrow tables of
// arrow-go would add 14 MB to the program, gRPC among them.
type table struct {
	w     *sink
	file  *file.Writer
	group file.BufferedRowGroupWriter
	size  int // bytes in the group so far
	limit int // limit of size
	cols  []*tableColumn
}

func newParquet(w *sink) encoder { return &table{w: w, limit: groupBytes} }

func (t *table) start(cols []dtype.TensorSpec) error {
	var fields schema.FieldList
	props := []parquet.WriterProperty{parquet.WithCompression(compress.Codecs.Snappy), parquet.WithCreatedBy("millrace")}
	for _, spec := range cols {
		node, err := tableNode(spec)
		if err != nil {
			return t.fail(err)
		}
		fields = append(fields, node)
		t.cols = append(t.cols, &tableColumn{spec: spec, rank: int16(spec.Shape.NumDimensions() + len(complexShape(spec.DType)))})
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, fields, -1)
	if err != nil {
		return t.fail(err)
	}
	for i, c := range schema.NewSchema(root).Columns() {
		if plain(cols[i].DType) {
			props = append(props, parquet.WithDictionaryPath(c.ColumnPath(), false))
		}
	}
	t.file, err = file.NewParquetWriterWithError(t.w, root, file.WithWriterProps(parquet.NewWriterProperties(props...)))
	return t.fail(err)
}

// plain reports whether to write the values without a dictionary, which only
// helps when values repeat. Floating-point results hardly ever do.
func plain(d dtype.DataType) bool {
	return strings.Contains(d.String(), "float") || strings.HasPrefix(d.String(), "complex")
}

func (t *table) write(batch []Column, rows int) error {
	if t.group == nil {
		group, err := t.file.AppendBufferedRowGroupChecked()
		if err != nil {
			return t.fail(err)
		}
		t.group, t.size = group, 0
	}
	for i := range batch {
		w, err := t.group.Column(i)
		if err == nil {
			err = t.cols[i].write(w, &batch[i], rows)
		}
		if err != nil {
			return t.fail(err)
		}
		t.size += len(batch[i].Data)
		for _, s := range batch[i].Strings {
			t.size += len(s) + 4
		}
	}
	if t.size >= t.limit {
		return t.closeGroup()
	}
	return nil
}

// closeGroup writes the row group from memory to the file.
func (t *table) closeGroup() error {
	if t.group == nil {
		return nil
	}
	err := t.group.Close()
	t.group = nil
	return t.fail(err)
}

func (t *table) finish() error {
	if err := t.closeGroup(); err != nil {
		return err
	}
	err := t.file.Close()
	t.file = nil
	return t.fail(err)
}

func (t *table) discard() {}

// fail returns the sink's description of a failure if there is one, instead of
// the Parquet library's error.
func (t *table) fail(err error) error {
	if err == nil {
		return nil
	}
	if t.w.err != nil {
		return t.w.err
	}
	wrapped := millrace.Errorf(millrace.ErrInternal, "write Parquet: %w", err)
	wrapped.File = t.w.name
	return wrapped
}
