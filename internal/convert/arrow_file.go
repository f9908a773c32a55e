package convert

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"millrace"
	"millrace/internal/regular"
)

var (
	parquetFormat = arrowFormat("Parquet", openParquet, ".parquet", ".pq")
	ipcFormat     = arrowFormat("Arrow", openIPC, ".arrow", ".feather")
)

// arrowFormat returns the format of files that hold Arrow record batches.
func arrowFormat(name string, open func(path string) (batches, error), extensions ...string) *format {
	return &format{
		name: name, extensions: extensions,
		survey: func(ctx context.Context, path string) (s *survey, err error) {
			defer recovered(path, name, &err)
			in, err := open(path)
			if err != nil {
				return nil, err
			}
			defer in.Close()
			s, err = surveyBatches(ctx, path, in)
			return s, damaged(path, name, err)
		},
		open: func(path string, columns []Column) (src source, err error) {
			defer recovered(path, name, &err)
			in, err := open(path)
			if err != nil {
				return nil, err
			}
			return newArrowSource(in, columns), nil
		},
	}
}

// damaged describes an error of a library that reads a format. Errors with a class are
// ours.
func damaged(path, format string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(*millrace.Error); ok {
		return err
	}
	e := millrace.Errorf(millrace.ErrCorrupt, "the file cannot be read as %s: %w", format, err)
	e.File = path
	return e
}

// recovered turns a panic of a library into an error: some libraries trust the files
// that they read.
func recovered(path, format string, err *error) {
	if r := recover(); r != nil {
		*err = damaged(path, format, fmt.Errorf("%v", r))
	}
}

// ended reports whether a pass over batches is done, and with which error.
func ended(ctx context.Context, err error) (bool, error) {
	switch {
	case err == io.EOF:
		return true, nil
	case err != nil:
		return true, err
	case ctx.Err() != nil:
		return true, millrace.Canceled(ctx, "conversion")
	}
	return false, nil
}

// batchRows is the number of rows that are decoded at once.
const batchRows = 4096

// parquetBatches reads a Parquet file.
type parquetBatches struct {
	path    string
	file    *file.Reader
	records pqarrow.RecordReader
}

func openParquet(path string) (batches, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, ioError(path, err)
	}
	f, err := file.OpenParquetFile(path, false, file.WithReadProps(parquet.NewReaderProperties(memory.DefaultAllocator)))
	if err != nil {
		return nil, damaged(path, "Parquet", err)
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{BatchSize: batchRows}, memory.DefaultAllocator)
	if err == nil {
		var records pqarrow.RecordReader
		if records, err = r.GetRecordReader(context.Background(), nil, nil); err == nil {
			return &parquetBatches{path, f, records}, nil
		}
	}
	f.Close()
	return nil, damaged(path, "Parquet", err)
}

// counts adds up what the row groups say. Columns of lists have several columns in the file,
// or values of their own number, so it is only asked of others.
func (p *parquetBatches) counts() (rows int64, nulls []int64, ok bool) {
	meta := p.file.MetaData()
	nulls = make([]int64, meta.Schema.NumColumns())
	for g := range p.file.NumRowGroups() {
		group := meta.RowGroup(g)
		rows += group.NumRows()
		for i := range nulls {
			if meta.Schema.Column(i).MaxDefinitionLevel() == 0 {
				continue // no value can be missing
			}
			chunk, err := group.ColumnChunk(i)
			if err != nil {
				return 0, nil, false
			}
			stats, err := chunk.Statistics()
			if err != nil || stats == nil || !stats.HasNullCount() {
				return 0, nil, false
			}
			nulls[i] += stats.NullCount()
		}
	}
	return rows, nulls, true
}

func (p *parquetBatches) schema() *arrow.Schema { return p.records.Schema() }

func (p *parquetBatches) next() (batch arrow.RecordBatch, err error) {
	defer recovered(p.path, "Parquet", &err)
	batch, err = p.records.Read()
	if err != nil && err != io.EOF {
		return nil, damaged(p.path, "Parquet", err)
	}
	if err != nil || batch == nil {
		return nil, io.EOF
	}
	batch.Retain()
	return batch, nil
}

func (p *parquetBatches) Close() error {
	p.records.Release()
	return p.file.Close()
}

// ipcBatches reads an Arrow file, or what was written as a stream.
type ipcBatches struct {
	path   string
	file   *os.File
	random *ipc.FileReader // of a file
	stream *ipc.Reader     // of a stream
	at     int
}

func openIPC(path string) (batches, error) {
	f, _, err := regular.OpenFile(path)
	if err != nil {
		return nil, ioError(path, err)
	}
	p := &ipcBatches{path: path, file: f}
	magic := make([]byte, 6)
	io.ReadFull(f, magic)
	if _, err = f.Seek(0, io.SeekStart); err == nil {
		if string(magic) == "ARROW1" {
			p.random, err = ipc.NewFileReader(f)
		} else {
			p.stream, err = ipc.NewReader(f)
		}
	}
	if err != nil {
		f.Close()
		return nil, damaged(path, "Arrow", err)
	}
	return p, nil
}

func (p *ipcBatches) schema() *arrow.Schema {
	if p.random != nil {
		return p.random.Schema()
	}
	return p.stream.Schema()
}

func (p *ipcBatches) next() (batch arrow.RecordBatch, err error) {
	defer recovered(p.path, "Arrow", &err)
	switch {
	case p.random == nil:
		batch, err = p.stream.Read()
	case p.at == p.random.NumRecords():
		return nil, io.EOF
	default:
		batch, err = p.random.RecordBatchAt(p.at)
		p.at++
	}
	if err == io.EOF {
		return nil, io.EOF
	}
	if err != nil {
		return nil, damaged(p.path, "Arrow", err)
	}
	batch.Retain()
	return batch, nil
}

func (p *ipcBatches) Close() error {
	if p.random != nil {
		p.random.Close()
	} else {
		p.stream.Release()
	}
	return p.file.Close()
}
