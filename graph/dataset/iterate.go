package dataset

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"millrace"
	"millrace/tfbridge"
)

// IterateOptions are the options of [Dataset.All].
type IterateOptions struct {
	Session *tfbridge.SessionOptions             // nil: QuickStart alone
	Feeds   map[tfbridge.Output]*tfbridge.Tensor // values of the dataset's placeholders
}

// All yields the elements of d as lists of components. They are valid until the next
// iteration. A sparse component is three tensors: indices, values and shape. A ragged
// component is its row splits, from the outermost dimension inwards, and its joined rows.
// An error comes last and once. Ranging again starts from the beginning. [Iterate] yields
// Go values instead.
//
// All adds an iterator to the graph, once. Each loop runs it in a new session, which
// costs some 30 ms, so that no state of a loop outlives it. A program that reads small
// data often should use [Dataset.Repeat], or a [Dataset.Iterator] in its own session.
// When ctx is done the loop waits for the step in flight, and yields an error of class
// millrace.ErrCanceled.
func (d *Dataset) All(ctx context.Context, o *IterateOptions) iter.Seq2[[]*tfbridge.Tensor, error] {
	d = d.orNone()
	if o == nil {
		o = &IterateOptions{}
	}
	it := d.Iterator("iterator")
	return func(yield func([]*tfbridge.Tensor, error) bool) {
		if err := d.scope.Err(); err != nil {
			yield(nil, err)
			return
		}
		if err := it.each(ctx, d.scope.Graph(), o, func(element []*tfbridge.Tensor) bool {
			return yield(element, nil)
		}); err != nil {
			yield(nil, err)
		}
	}
}

// each runs the iterator in a new session and calls fn with every element
// until fn returns false.
func (it *Iterator) each(ctx context.Context, g *tfbridge.Graph, o *IterateOptions, fn func([]*tfbridge.Tensor) bool) (err error) {
	if ctx == nil {
		return errNoContext("iterate")
	}
	session := o.Session
	if session == nil {
		session = &tfbridge.SessionOptions{QuickStart: true}
	}
	sess, err := tfbridge.NewSession(g, session)
	if err != nil {
		return fmt.Errorf("iterate: %w", err)
	}
	defer func() {
		if late := sess.Close(); late != nil && err != nil {
			err = fmt.Errorf("%w; %w", err, late) // Go functions that have not returned
		}
	}()
	// A canceled run would spoil the iterator; the session goes away anyway.
	stop := context.AfterFunc(ctx, func() { sess.Close() })
	defer stop()
	if _, err := sess.Run(o.Feeds, nil, []*tfbridge.Operation{it.Init}); err != nil {
		return ended(ctx, err)
	}
	next, err := sess.Prepare(nil, it.Parts, nil)
	if err != nil {
		return ended(ctx, err)
	}
	for ctx.Err() == nil {
		element, err := next.Run(context.WithoutCancel(ctx), nil)
		if err != nil {
			if ctx.Err() == nil && errors.Is(err, tfbridge.OutOfRange) {
				return nil
			}
			return ended(ctx, debugOf(it.scope).blame(nameRecord(g, err)))
		}
		more := fn(element)
		for _, t := range element {
			t.Close()
		}
		if !more {
			return nil
		}
	}
	return ended(ctx, ctx.Err())
}

// Next takes the next element in a session where Init has run. It returns the tensors of
// the element (see Parts), which the caller closes. At the end of the data it returns
// no element, end true and no error; later calls do so too.
//
// An error names the file and the record if they are known. After an error run Init or
// RestoreState first: TensorFlow's iterators report the end of the data after some
// failures. When ctx is done, Next returns an error of class millrace.ErrCanceled, and the
// element in flight is lost. Next may be called by several goroutines; each element goes
// to one of them. [Dataset.All] is
// the loop for programs that need no session.
//
// It wraps IteratorGetNext.
func (it *Iterator) Next(ctx context.Context, sess *tfbridge.Session) (element []*tfbridge.Tensor, end bool, err error) {
	if err := it.scope.Err(); err != nil && (it.scope.Graph() == nil || it.Init == nil) { // a finalized scope's graph runs
		return nil, false, err
	}
	if ctx == nil {
		return nil, false, errNoContext("next")
	}
	element, err = sess.RunContext(ctx, nil, it.Parts, nil)
	switch {
	case err == nil:
		return element, false, nil
	case ctx.Err() != nil:
		return nil, false, millrace.Canceled(ctx, "iteration")
	case errors.Is(err, tfbridge.OutOfRange) && !errors.Is(err, millrace.ErrClosed):
		return nil, true, nil
	}
	return nil, false, ended(ctx, debugOf(it.scope).blame(nameRecord(it.scope.Graph(), err)))
}

// ended returns the error of a loop whose context is done.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return millrace.Canceled(ctx, "iteration")
	}
	return fmt.Errorf("iterate: %w", err)
}

// errNoContext returns the error about a nil context.
func errNoContext(what string) error {
	return millrace.Errorf(millrace.ErrConfig, "%s: the context is nil", what)
}

// Iterate yields the elements of d as Go values, which [Decode] makes: a struct such as
//
//	type Example struct {
//		Image []float32 `tf:"image"`
//		Words []string  `tf:"words"`
//	}
//
// The caller may keep the values, except a *tfbridge.Tensor in them, which is valid until
// the next iteration. An element that does not fit the type is an error. Otherwise
// Iterate works like [Dataset.All].
func Iterate[T any](ctx context.Context, d *Dataset, o *IterateOptions) iter.Seq2[T, error] {
	elements, t := d.All(ctx, o), d.Spec()
	return func(yield func(T, error) bool) {
		for element, err := range elements {
			var v T
			if err == nil {
				err = Decode(t, element, &v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// ToSlice returns all elements of d as Go values, as [Iterate] does. They cannot contain
// *tfbridge.Tensor. With an error it returns the elements before the error too.
func ToSlice[T any](ctx context.Context, d *Dataset, o *IterateOptions) ([]T, error) {
	var all []T
	for v, err := range Iterate[T](ctx, d, o) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// First returns the first element of d as a Go value, as [Iterate] does, without
// *tfbridge.Tensor. If there is no element, the error is of class millrace.ErrTruncated.
func First[T any](ctx context.Context, d *Dataset, o *IterateOptions) (T, error) {
	for v, err := range Iterate[T](ctx, d, o) {
		return v, err
	}
	var none T
	return none, millrace.Errorf(millrace.ErrTruncated, "the dataset has no elements")
}
