package feed

import (
	"context"

	"millrace"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// Numbers returns the function that yields the records with the given numbers, which count
// the records from 0 in the order of the files. Its arguments are the token and the numbers.
// All of them are read, or the call fails; a bad record is an error.
func Numbers(s *Source) Func { return (&recordFeed{s.strict()}).numbered((*recordReader).recordsOf) }

// Positions returns the function that yields the records at the given positions of the order.
// Its arguments are the token and the positions. All are read, as with [Numbers].
func Positions(s *Source) Func {
	f := &recordFeed{s.strict()}
	return f.numberedIn(func() *order.Order { return order.New(f.Spec, f.Scan) }, (*recordReader).recordsOf)
}

// WindowNumbers returns the function that yields the records of the windows with the given
// numbers, and where the windows begin and end in them.
func WindowNumbers(s *Source) Func {
	return (&recordFeed{s.strict()}).numbered((*recordReader).windowsOf)
}

// numbered returns a function that reads the examples with some numbers.
func (f *recordFeed) numbered(read readFunc) Func {
	return f.numberedIn(func() *order.Order { return order.New(order.InFile(f.Spec), f.Scan) }, read)
}

// readFunc reads the examples with some numbers in the order of a reader.
type readFunc = func(*recordReader, context.Context, []int64) ([]*tfbridge.Tensor, error)

// numberedIn is numbered in an order of the caller's choice.
func (f *recordFeed) numberedIn(order func() *order.Order, read readFunc) Func {
	return func(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
		return f.readNumbers(ctx, args, order, read)
	}
}

// readNumbers answers a call for the examples with some numbers.
func (f *recordFeed) readNumbers(ctx context.Context, args []*tfbridge.Tensor, order func() *order.Order, read readFunc) ([]*tfbridge.Tensor, error) {
	numbers, err := tfbridge.View[int64](args[1])
	if err != nil {
		return nil, err
	}
	token := args[0]
	r, ok := tfbridge.FindToken(token).(*recordReader)
	if !ok {
		r = f.reader(order())
		if token, err = tfbridge.NewToken(r, r.close); err != nil {
			return nil, err
		}
	}
	r.buf = r.buf[:0]
	out, err := read(r, ctx, numbers)
	if err != nil {
		token.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{token}, out...), nil
}

// recordsOf returns the records with some numbers as a vector.
func (r *recordReader) recordsOf(ctx context.Context, numbers []int64) ([]*tfbridge.Tensor, error) {
	records := make([][]byte, 0, len(numbers))
	for _, n := range numbers {
		if ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "")
		}
		record, err := r.read(r.order.At(n))
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	text, err := tfbridge.NewStringTensor([]int64{int64(len(records))}, records)
	return []*tfbridge.Tensor{text}, err
}

// windowsOf returns the records of the windows with some numbers, and where the windows
// begin and end in them.
func (r *recordReader) windowsOf(ctx context.Context, numbers []int64) ([]*tfbridge.Tensor, error) {
	var w windowRecords
	for _, n := range numbers {
		if err := w.add(ctx, r, n); err != nil {
			return nil, err
		}
	}
	return w.tensors()
}
