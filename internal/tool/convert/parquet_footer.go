package convert

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/thrift/lib/go/thrift"
)

// # Checks of a Parquet file before a library reads it
//
// The footer lists the nodes of the schema in the order of a walk through the tree,
// each with its number of children. The library builds the tree recursively, so a long
// chain of groups ends the process. checkFooter counts the levels. Later checkChunks
// compares the sizes of column chunks with that of the file: the library makes a buffer
// of the size that a chunk claims.
const (
	maxParquetFooter = 256 << 20
	maxParquetLevels = 256

	fieldSchema      = 2 // field of FileMetaData
	fieldNumChildren = 5 // field of SchemaElement
)

// checkFooter counts the levels of the schema.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte // the footer's length, and PAR1
	if size < int64(len(end)) {
		return errors.New("it is too short")
	}
	if _, err := f.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > maxParquetFooter || n > size-int64(len(end)) {
		return limitError("a footer of %d bytes in a file of %d; at most %d are read", n, size, maxParquetFooter)
	}
	if string(end[4:]) != "PAR1" {
		return errors.New("it does not end as Parquet files do, or it is encrypted")
	}
	footer := make([]byte, n)
	if _, err := f.ReadAt(footer, size-int64(len(end))-n); err != nil {
		return err
	}
	memory := thrift.NewTMemoryBuffer()
	memory.Write(footer)
	return walkFooter(thrift.NewTCompactProtocolConf(memory, nil))
}

// eachField calls fn for the fields of a struct, until it returns true. fn reads the field
// if it returns a kind of error or true; otherwise it is skipped.
func eachField(p thrift.TProtocol, fn func(kind thrift.TType, id int16) (read, done bool, err error)) error {
	ctx := context.Background()
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, kind, id, err := p.ReadFieldBegin(ctx)
		if err != nil || kind == thrift.STOP {
			return errors.Join(err, p.ReadStructEnd(ctx))
		}
		read, done, err := fn(kind, id)
		if err == nil && !read {
			err = p.Skip(ctx, kind)
		}
		if err != nil || done {
			return err
		}
	}
}

// walkFooter finds the list of the schema's nodes.
func walkFooter(p thrift.TProtocol) error {
	return eachField(p, func(kind thrift.TType, id int16) (read, done bool, err error) {
		if id != fieldSchema || kind != thrift.LIST {
			return false, false, nil
		}
		return true, true, walkNodes(p)
	})
}

// walkNodes counts the levels of the nodes. open has the number of remaining children
// of each open group.
func walkNodes(p thrift.TProtocol) error {
	_, n, err := p.ReadListBegin(context.Background())
	if err != nil {
		return err
	}
	var open []int32
	for range n {
		children := int32(0)
		err := eachField(p, func(kind thrift.TType, id int16) (read, done bool, err error) {
			if id != fieldNumChildren || kind != thrift.I32 {
				return false, false, nil
			}
			children, err = p.ReadI32(context.Background())
			return true, false, err
		})
		if err != nil {
			return err
		}
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if children > 0 {
			open = append(open, children)
		}
		if len(open) > maxParquetLevels {
			return limitError("its schema has more than %d levels", maxParquetLevels)
		}
	}
	return nil
}

// maxRowsPerByte exceeds the rows per byte of any valid file: a value that is repeated
// takes a few bytes for each page, which has some millions of rows at most.
const maxRowsPerByte = 1 << 20

// checkChunks compares sizes in the metadata with the size of the file.
func checkChunks(meta *metadata.FileMetaData, size int64) error {
	if rows := meta.NumRows; rows < 0 || rows/maxRowsPerByte > size {
		return limitError("%d rows in %d bytes", rows, size)
	}
	for g := range meta.NumRowGroups() {
		group := meta.RowGroup(g)
		for i := range group.NumColumns() {
			chunk, err := group.ColumnChunk(i)
			if err != nil {
				return err
			}
			if n := chunk.TotalCompressedSize(); n < 0 || n > size {
				return limitError("column %d of row group %d has %d bytes, in a file of %d", i+1, g+1, n, size)
			}
		}
	}
	return nil
}
