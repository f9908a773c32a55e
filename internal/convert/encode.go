package convert

import (
	"context"
	"io"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/tfrecord/example"
)

// job is a block on its way from the reader to the writer.
type job struct {
	path  string
	block block
	from  int          // rows before are not wanted
	done  chan encoded // takes the result
}

// encoded are the records of a block, one behind the other.
type encoded struct {
	bytes []byte
	ends  []int // where each record ends
	err   error
}

// encoder makes the records of all inputs.
type encoder struct {
	format  *format
	inputs  []Input
	columns []Column
	skip    int64 // leading rows that are not wanted
	workers int
}

// run calls write with each record, in the order of the rows, by one goroutine.
func (e *encoder) run(ctx context.Context, write func(record []byte) error) error {
	g, ctx := errgroup.WithContext(ctx)
	jobs, order := make(chan *job), make(chan *job, 2*e.workers)
	g.Go(func() error {
		defer close(jobs)
		defer close(order)
		return e.read(ctx, jobs, order)
	})
	for range e.workers {
		g.Go(func() error {
			for j := range jobs {
				j.done <- e.encode(j)
			}
			return nil
		})
	}
	g.Go(func() error { return writeAll(ctx, order, write) })
	return g.Wait()
}

// read reads the blocks of all inputs.
func (e *encoder) read(ctx context.Context, jobs, order chan<- *job) error {
	skip := e.skip
	for _, in := range e.inputs {
		if skip >= in.Rows {
			skip -= in.Rows
			continue
		}
		if err := e.readFile(ctx, in, skip, jobs, order); err != nil {
			return err
		}
		skip = 0
	}
	return nil
}

// readFile reads the blocks of a file.
func (e *encoder) readFile(ctx context.Context, in Input, skip int64, jobs, order chan<- *job) error {
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
		j := &job{path: in.Path, block: b, from: int(skip), done: make(chan encoded, 1)}
		skip = 0
		for _, to := range []chan<- *job{order, jobs} {
			select {
			case to <- j:
			case <-ctx.Done():
				return millrace.Canceled(ctx, "conversion")
			}
		}
	}
	if rows != in.Rows {
		return dataError(in.Path, "the file changed during the conversion: it has %d rows and had %d; type the command again", rows, in.Rows)
	}
	return nil
}

// encode makes the records of a block.
func (e *encoder) encode(j *job) (out encoded) {
	defer recovered(j.path, e.format.name, &out.err)
	if b, ok := j.block.(recordBlock); ok {
		for row := j.from; row < b.rows(); row++ {
			out.bytes = append(out.bytes, b.record(row)...)
			out.ends = append(out.ends, len(out.bytes))
		}
		return out
	}
	var v values
	var b example.Builder
	for row := j.from; row < j.block.rows(); row++ {
		b.Reset()
		for c := range e.columns {
			v.reset()
			err := j.block.read(&v, c, row)
			if err == nil {
				err = v.fit(&e.columns[c])
			}
			if err != nil {
				out.err = cellError(j.path, j.block.row(row), e.columns[c].Name, err)
				return out
			}
			v.append(&b, &e.columns[c])
		}
		out.bytes = append(out.bytes, b.Record()...)
		out.ends = append(out.ends, len(out.bytes))
	}
	return out
}

// writeAll writes the records of the jobs in their order.
func writeAll(ctx context.Context, order <-chan *job, write func([]byte) error) error {
	for j := range order {
		var out encoded
		select {
		case out = <-j.done:
		case <-ctx.Done():
			return millrace.Canceled(ctx, "conversion")
		}
		start := 0
		for _, end := range out.ends {
			if err := write(out.bytes[start:end]); err != nil {
				return err
			}
			start = end
		}
		if out.err != nil {
			return out.err
		}
	}
	return nil
}
