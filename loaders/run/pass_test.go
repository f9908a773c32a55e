package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"millrace"
	"millrace/graph/steps"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// nextIDs takes a batch and returns its column "id".
func nextIDs(t *testing.T, pl *Pipeline, sess *tfbridge.Session) []int64 {
	t.Helper()
	fetched, err := sess.RunContext(t.Context(), nil, []tfbridge.Output{pl.Tensors[0].Output}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer fetched[0].Close()
	ids, err := tfbridge.View[int64](fetched[0])
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(ids)
}

// openPass starts a pass.
func openPass(t *testing.T, pl *Pipeline, sess *tfbridge.Session, o *steps.Options) *pass {
	t.Helper()
	p, err := pl.open(t.Context(), sess, o)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*pass)
}

// Records are parsed several batches at a time. After a failure that a record may have
// caused, they are parsed batch by batch, from the next batch to deliver on. A second
// failure is final. So is a failure that no record causes, and one where the second
// reading may have another order.
func TestRetries(t *testing.T) {
	testruntime.Need(t)
	pl, sess := opened(t, records(t, 7))
	fault := func(code tfbridge.Code) error {
		return &tfbridge.Error{Func: "TF_SessionRun", Code: code, Msg: "words"}
	}
	if pl.GroupSize != 16 || pl.retryGroupSize != 2 {
		t.Fatalf("%d records at once, %d after a failure", pl.GroupSize, pl.retryGroupSize)
	}
	p := openPass(t, pl, sess, &steps.Options{})
	if values, err := p.Next(t.Context()); values != nil || err != nil || p.group != 16 || p.skip != 0 {
		t.Fatalf("%v, %v: groups of %d, %d batches to skip", values, err, p.group, p.skip)
	}
	if ids := nextIDs(t, pl, sess); !slices.Equal(ids, []int64{0, 1}) {
		t.Errorf("first batch %v", ids)
	}
	if state, err := p.Taken(2); state != nil || err != nil {
		t.Errorf("a state that nobody asked for: %q, %v", state, err)
	}
	if err := p.Failed(t.Context(), fault(tfbridge.DataLoss)); err != nil || p.group != 2 || p.skip != 1 {
		t.Fatalf("first failure: %v, groups of %d, %d batches to skip", err, p.group, p.skip)
	}
	if ids := nextIDs(t, pl, sess); !slices.Equal(ids, []int64{2, 3}) {
		t.Errorf("batch after the failure %v", ids)
	}
	if _, err := p.Taken(2); err != nil {
		t.Error(err)
	}
	encode, err := p.SaveState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, err := encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Failed(t.Context(), fault(tfbridge.DataLoss)); !errors.Is(err, millrace.ErrCorrupt) {
		t.Errorf("second failure: %v", err)
	}
	final := func(what string, err error) {
		t.Helper()
		p := openPass(t, pl, sess, &steps.Options{})
		if got := p.Failed(t.Context(), err); !errors.Is(got, err) || p.retrying {
			t.Errorf("%s: %v, again: %v", what, got, p.retrying)
		}
	}
	final("internal", fault(tfbridge.Internal))
	pl.Plan.Sloppy = true
	final("any order", fault(tfbridge.InvalidArgument))
	pl.Plan.Sloppy = false
	pl.GroupSize = pl.retryGroupSize
	final("batch by batch", fault(tfbridge.InvalidArgument))

	// A state of a second reading records that.
	again := openPass(t, pl, sess, &steps.Options{State: state})
	if again.group != 2 || again.skip != 1 || again.batches != 2 || again.rows != 4 {
		t.Errorf("went on after %d batches of %d rows, in groups of %d behind %d batches", again.batches, again.rows, again.group, again.skip)
	}
	if ids := nextIDs(t, pl, sess); !slices.Equal(ids, []int64{4, 5}) {
		t.Errorf("went on with %v", ids)
	}
}

// OutOfRange is the end of the data if all rows came, and otherwise a fault.
func TestEndOfAPass(t *testing.T) {
	pl := scanned(t, records(t, 7))
	end := &tfbridge.Error{Code: tfbridge.OutOfRange}
	for rows, want := range map[int64]error{7: io.EOF, 6: millrace.ErrTruncated} {
		p := &pass{pipe: pl, rows: rows}
		if err := p.Failed(t.Context(), end); !errors.Is(err, want) {
			t.Errorf("after %d rows: %v, want %v", rows, err, want)
		}
	}
	p := &pass{pipe: pl, empty: true}
	if values, err := p.Next(t.Context()); values != nil || err != io.EOF {
		t.Errorf("without any example: %v, %v", values, err)
	}
}

// The places of the last rows are known where the plan knows them.
func TestPlaceOfRows(t *testing.T) {
	pl := scanned(t, records(t, 7))
	p := &pass{pipe: pl, rows: 5}
	if place := p.Place(2); place != "" {
		t.Errorf("place %q that nobody knows", place)
	}
	pl.Place = func(first, rows int64) string { return fmt.Sprint(first, rows) }
	if place := p.Place(2); place != "3 2" {
		t.Errorf("place %q, want 2 rows from 3 on", place)
	}
}

// A state comes with its batch. A run from the state gets the next batch, and counts
// the batches and rows before it.
func TestStatesOfAPass(t *testing.T) {
	testruntime.Need(t)
	pl, sess := opened(t, records(t, 7))
	noneLeft := leak.Objects(t, openTensors)
	p := openPass(t, pl, sess, &steps.Options{SaveEvery: 2, PrepareSave: true})
	if p.save == nil {
		t.Error("saving is not prepared")
	}
	var states [][]byte
	for range 3 {
		rows := int64(len(nextIDs(t, pl, sess)))
		state, err := p.Taken(rows)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, state)
	}
	if states[0] != nil || states[1] == nil || states[2] != nil {
		t.Fatalf("states %q, want one after 2 batches", states)
	}
	again := openPass(t, pl, sess, &steps.Options{State: states[1]})
	if again.save != nil || again.batches != 2 || again.rows != 4 || again.group != pl.GroupSize || again.skip != 0 {
		t.Errorf("went on after %d batches of %d rows, in groups of %d", again.batches, again.rows, again.group)
	}
	if ids := nextIDs(t, pl, sess); !slices.Equal(ids, []int64{4, 5}) {
		t.Errorf("went on with %v", ids)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.SaveState(ctx); !errors.Is(err, millrace.ErrCanceled) || errors.Is(err, millrace.ErrCheckpoint) {
		t.Errorf("canceled: %v", err)
	}
	if err := p.prepareSave(ctx); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("prepare, canceled: %v", err)
	}
	noneLeft()
}

// A failure to take or restore a state is an error about the state.
func TestStatesThatFail(t *testing.T) {
	testruntime.Need(t)
	pl, sess := opened(t, records(t, 7))
	other, _ := opened(t, records(t, 7))
	o := &steps.Options{SaveEvery: 1, PrepareSave: true}
	if p, err := pl.open(t.Context(), sess, &steps.Options{State: []byte("?")}); !errors.Is(err, millrace.ErrCheckpoint) {
		t.Errorf("no state: %v, %v", p, err)
	}
	state, err := pl.encodeState(&stateHeader{Group: 2}, []byte("no state of an iterator"))
	if err != nil {
		t.Fatal(err)
	}
	var e *millrace.Error
	if _, err := pl.open(t.Context(), sess, &steps.Options{State: state}); !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || e.Loader != pl.Plan.Path {
		t.Errorf("a state that TensorFlow cannot restore: %v", err)
	}
	// No iterator of this session has read anything.
	destroyed := &pass{pipe: pl, session: sess, o: &steps.Options{SaveEvery: 1}}
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{pl.Iterator.Destroy}); err != nil {
		t.Fatal(err)
	}
	if state, err := destroyed.Taken(2); !errors.Is(err, millrace.ErrCheckpoint) || state != nil {
		t.Errorf("state of no iterator: %q, %v", state, err)
	}
	if err := destroyed.prepareSave(t.Context()); !errors.Is(err, millrace.ErrCheckpoint) {
		t.Errorf("prepare the state of no iterator: %v", err)
	}
	parts := *pl.Parts
	parts.Iterator = other.Iterator
	foreign := NewPipeline(&parts)
	if p, err := foreign.open(t.Context(), sess, o); err == nil {
		t.Errorf("opened an iterator of another graph: %v", p)
	}
	if _, err := (&pass{pipe: foreign, session: sess}).SaveState(t.Context()); err == nil {
		t.Error("saved an iterator of another graph")
	}
}

// Every use of a closed session gives the error that it is closed.
func TestPassesOfAClosedSession(t *testing.T) {
	testruntime.Need(t)
	pl, sess := opened(t, records(t, 7))
	p := openPass(t, pl, sess, &steps.Options{})
	for b, err := range pl.Run(t.Context(), sess, &steps.Options{OnDemand: true}) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err != nil || !errors.Is(pl.Wait(ctx), millrace.ErrCanceled) {
			t.Errorf("waited for a run of which %d rows came: %v", b.Rows(), err)
		}
		break
	}
	if err := pl.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	_, opening := pl.open(t.Context(), sess, &steps.Options{})
	_, saving := p.SaveState(t.Context())
	retrying := p.Failed(t.Context(), &tfbridge.Error{Code: tfbridge.DataLoss})
	for i, err := range []error{opening, saving, retrying} {
		if !errors.Is(err, millrace.ErrClosed) {
			t.Errorf("use %d: %v", i, err)
		}
	}
}

// Columns of a batch give the number of elements of other columns without padding.
func TestWasteOfBatches(t *testing.T) {
	testruntime.Need(t)
	pl, sess := opened(t, records(t, 4))
	waste := NewWaste([]plan.PaddedTensor{{Name: "xs", Counter: "id"}, {Name: "known", Share: 0.25}})
	wrong := NewWaste([]plan.PaddedTensor{{Name: "id", Counter: "xs"}})
	if waste.Known() || !NewWaste([]plan.PaddedTensor{{Name: "known"}}).Known() {
		t.Error("known before a batch is read, or unknown without one")
	}
	for b, err := range pl.Run(t.Context(), sess, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if err := waste.Add(b); err != nil {
			t.Error(err)
		}
		if err := wrong.Add(b); err == nil {
			t.Error("floats were taken for counts")
		}
	}
	// "id" is 0, 1, 2 and 3; "xs" has two elements a row.
	want := []TensorWaste{{"xs", 1 - 6./8}, {"known", 0.25}}
	if got := waste.Tensors(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := NewWaste(nil).Tensors(); got != nil {
		t.Errorf("of no tensors: %v", got)
	}
	if err := pl.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
