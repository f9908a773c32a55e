package convert

import (
	"context"
	"io"
	"sync"

	"millrace/tfrecord/example"
)

// encoded are the records of a block, concatenated.
type encoded struct {
	bytes []byte
	ends  []int // end of each record
	err   error

	rest func(*encoded) // makes the next records of the block, after these are written; nil: there are no more
}

// encoder makes the records of all inputs.
type encoder struct {
	format  *format
	inputs  []Input
	columns []Column
	choices Choices
	limits  []limits // limits of the columns
	skip    int64    // number of leading rows to skip
	workers int
	spare   sync.Pool // holds *encoded values
}

// blockRows is the number of rows of a block of lines.
const blockRows = 512

// run calls write with each record, in the order of the rows, by one goroutine.
func (e *encoder) run(ctx context.Context, write func(record []byte) error) error {
	for i := range e.columns {
		e.limits = append(e.limits, limitsOf(&e.columns[i]))
	}
	return inOrder(ctx, e.workers, e.read, func(out *encoded) error {
		defer e.spare.Put(out)
		for {
			start := 0
			for _, end := range out.ends {
				if err := write(out.bytes[start:end]); err != nil {
					return err
				}
				start = end
			}
			if out.rest == nil {
				return out.err
			}
			out.rest(out)
		}
	})
}

// read reads the blocks of all inputs.
func (e *encoder) read(submit func(size int64, work func() *encoded) error) error {
	skip := e.skip
	for _, in := range e.inputs {
		if skip >= in.Rows {
			skip -= in.Rows
			continue
		}
		if err := e.readFile(in, skip, submit); err != nil {
			return err
		}
		skip = 0
	}
	return nil
}

// readFile reads the blocks of a file.
func (e *encoder) readFile(in Input, skip int64, submit func(size int64, work func() *encoded) error) error {
	src, err := e.format.open(in.Path, e.columns)
	if err != nil {
		return err
	}
	defer src.Close()
	rows := int64(0)
	for {
		b, err := src.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		rows += int64(b.rows())
		if skip >= int64(b.rows()) {
			skip -= int64(b.rows())
			continue
		}
		from := int(skip) // earlier rows are skipped
		skip = 0
		if err := submit(b.size(), func() *encoded { return e.encode(in.Path, b, from) }); err != nil {
			return err
		}
	}
	if rows != in.Rows {
		return dataError(in.Path, "the file changed during the conversion: it has %d rows and had %d; type the command again", rows, in.Rows)
	}
	return nil
}

// encode makes the records of a block, starting at a row.
func (e *encoder) encode(path string, b block, from int) *encoded {
	out, _ := e.spare.Get().(*encoded)
	if out == nil {
		out = &encoded{}
	}
	e.encodeSome(out, path, b, from)
	return out
}

// encodeSome makes as many records of a block, starting at a row, as may wait for the
// writer. rest makes the others.
func (e *encoder) encodeSome(out *encoded, path string, b block, row int) {
	out.bytes, out.ends, out.err, out.rest = out.bytes[:0], out.ends[:0], nil, nil
	defer func() {
		if f, ok := b.(freeBlock); ok && out.rest == nil {
			f.free()
		}
	}()
	defer recovered(path, e.format.name, &out.err)
	if b, ok := b.(recordBlock); ok {
		for ; row < b.rows(); row++ {
			out.add(b.record(row))
		}
		return
	}
	v := values{Choices: e.choices}
	var record example.Builder
	for ; row < b.rows(); row++ {
		if len(out.bytes) > encodedBytes {
			out.rest = func(out *encoded) { e.encodeSome(out, path, b, row) }
			return
		}
		record.Reset()
		size := int64(0)
		for c := range e.columns {
			v.reset()
			err := b.read(&v, c, row)
			if err == nil {
				err = v.fit(&e.columns[c], &e.limits[c])
			}
			if err == nil {
				size += v.size()
				err = checkRecord(size)
			}
			if err != nil {
				out.err = cellError(path, b.row(row), e.columns[c].Name, err)
				return
			}
			v.append(&record, &e.columns[c], &e.limits[c])
		}
		out.add(record.Record())
	}
}

// add adds a record.
func (out *encoded) add(record []byte) {
	out.bytes = append(out.bytes, record...)
	out.ends = append(out.ends, len(out.bytes))
}
