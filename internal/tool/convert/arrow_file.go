package convert

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"millrace"
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
// our own.
func damaged(path, format string, err error) error {
	if err == nil {
		return nil
	}
	var e *millrace.Error
	if errors.As(err, &e) && e.File != "" {
		return e
	}
	class := millrace.ErrCorrupt
	if errors.Is(err, millrace.ErrLimit) {
		class = millrace.ErrLimit
	}
	e = millrace.Errorf(class, "the file cannot be read as %s: %w", format, err)
	e.File = path
	return e
}

// recovered turns a panic of a library into an error: some libraries trust their input
// files.
func recovered(path, format string, err *error) {
	if r := recover(); r != nil {
		cause, ok := r.(error)
		if !ok {
			cause = fmt.Errorf("%v", r)
		}
		*err = damaged(path, format, cause)
	}
}

// ended reports whether a pass over batches is done, and its error.
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
	memory  limitedMemory
	records pqarrow.RecordReader
}

func openParquet(path string) (in batches, err error) {
	f, size, err := openInput(path)
	if err != nil {
		return nil, err
	}
	p := &parquetBatches{path: path}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	defer recovered(path, "Parquet", &err)
	if err := checkFooter(f, size); err != nil {
		return nil, damaged(path, "Parquet", err)
	}
	p.file, err = file.NewParquetReader(f, file.WithReadProps(parquet.NewReaderProperties(&p.memory)))
	if err == nil {
		err = errors.Join(checkChunks(p.file.MetaData(), size), checkParquetSchema(p.file.MetaData()))
	}
	if err != nil {
		return nil, damaged(path, "Parquet", err)
	}
	r, err := pqarrow.NewFileReader(p.file, pqarrow.ArrowReadProperties{BatchSize: batchRows}, &p.memory)
	if err != nil {
		return nil, damaged(path, "Parquet", err)
	}
	// Structures are refused before the library makes readers of their fields, which it
	// does in goroutines where a panic cannot be recovered.
	schema, err := r.Schema()
	if err != nil {
		return nil, damaged(path, "Parquet", err)
	}
	if _, err := columnsOfSchema(path, schema); err != nil {
		return nil, err
	}
	if p.records, err = r.GetRecordReader(context.Background(), nil, nil); err != nil {
		return nil, damaged(path, "Parquet", err)
	}
	return p, nil
}

// counts adds up the counts of the row groups. Columns of lists have several columns in
// the file, or varying numbers of values, so only other columns are counted.
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
	p.memory.begin()
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

// ipcBatches reads an Arrow file or stream.
type ipcBatches struct {
	path   string
	file   inputFile
	memory limitedMemory
	random *ipc.FileReader // reader of a file
	stream *ipc.Reader     // reader of a stream
	at     int
}

func openIPC(path string) (in batches, err error) {
	f, size, err := openInput(path)
	if err != nil {
		return nil, err
	}
	p := &ipcBatches{path: path, file: f}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	defer recovered(path, "Arrow", &err)
	magic := make([]byte, 6)
	io.ReadFull(f, magic)
	isStream := string(magic) != "ARROW1"
	if err := checkIPCSchema(f, size, isStream); err != nil {
		return nil, damaged(path, "Arrow", err)
	}
	options := []ipc.Option{ipc.WithAllocator(&p.memory), ipc.WithMetadataSizeLimit(maxArrowHeader), ipc.WithBodySizeLimit(max(1, min(size, maxArrowBytes)))}
	if _, err = f.Seek(0, io.SeekStart); err == nil {
		if isStream {
			// ipc.NewReader ignores the limits.
			p.stream, err = ipc.NewReaderFromMessageReader(ipc.NewMessageReader(f, options...), options...)
		} else {
			p.random, err = ipc.NewFileReader(f, options...)
		}
	}
	if err != nil {
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
	p.memory.begin()
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
	if err := checkRows(batch); err != nil {
		return nil, damaged(p.path, "Arrow", err)
	}
	batch.Retain()
	return batch, nil
}

// checkRows returns an error for a batch with many rows and no values, which a file of
// any size may claim.
func checkRows(batch arrow.RecordBatch) error {
	if rows := batch.NumRows(); rows < 0 || rows > 1<<16 && rows/8 > bytesOf(batch) {
		return limitError("a batch of %d rows whose columns have %d bytes", rows, bytesOf(batch))
	}
	return nil
}

// bytesOf returns the size of a batch.
func bytesOf(batch arrow.RecordBatch) (n int64) {
	for _, column := range batch.Columns() {
		n += int64(min(column.Data().SizeInBytes(), maxArrowBytes))
	}
	return n
}

func (p *ipcBatches) Close() error {
	if p.random != nil {
		p.random.Close()
	} else {
		p.stream.Release()
	}
	return p.file.Close()
}
