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

// groupBytes is how much of the columns, uncompressed, a row group holds. A
// row group is kept in memory until it is whole.
const groupBytes = 64 << 20

// table writes a Parquet file: a column for each tensor, a LIST for each
// dimension of a row. It stands on arrow-go's column writers and not on its
// Arrow tables, which would add 14 MB (gRPC among them) to the program.
type table struct {
	w     *sink
	file  *file.Writer
	group file.BufferedRowGroupWriter
	size  int // bytes in the group so far
	limit int // of size
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

// plain reports whether a dictionary of the values is a waste of time:
// floating-point results hardly ever repeat.
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

// closeGroup writes out the row group that is gathered in memory.
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

// fail prefers the sink's own description of a failure to what the Parquet
// library made of it.
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
