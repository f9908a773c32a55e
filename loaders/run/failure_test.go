package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/tfproto"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// The code of a failure decides over its class, whatever its words are.
func TestCodeClass(t *testing.T) {
	tests := []struct {
		code   tfbridge.Code
		remote bool
		want   millrace.Class
	}{
		{tfbridge.ResourceExhausted, false, millrace.ErrLimit},
		{tfbridge.FailedPrecondition, false, millrace.ErrTruncated},
		{tfbridge.FailedPrecondition, true, millrace.ErrIO},
		{tfbridge.NotFound, false, millrace.ErrIO},
		{tfbridge.DataLoss, false, millrace.ErrCorrupt},
		{tfbridge.InvalidArgument, false, millrace.ErrSchema},
		{tfbridge.Unimplemented, false, millrace.ErrConfig},
		{tfbridge.Internal, false, millrace.ErrInternal},
	}
	for _, tt := range tests {
		failed := &tfbridge.Error{Func: "TF_SessionRun", Code: tt.code, Msg: "Too many open files"}
		if got := codeClass(failed, tt.remote); got != tt.want {
			t.Errorf("codeClass(%v, %v) = %q, want %q", tt.code, tt.remote, got, tt.want)
		}
	}
}

// A bad record may be why a step failed with these codes, and no others.
func TestDataFaults(t *testing.T) {
	for code, want := range map[tfbridge.Code]bool{
		tfbridge.InvalidArgument: true, tfbridge.DataLoss: true, tfbridge.FailedPrecondition: true,
		tfbridge.OutOfRange: false, tfbridge.Internal: false, tfbridge.Cancelled: false, tfbridge.NotFound: false,
	} {
		if got := dataFault(&tfbridge.Error{Code: code}); got != want {
			t.Errorf("%v: %v", code, got)
		}
	}
}

// Examples that differ in shape are told by the tensor, if TensorFlow says which.
func TestRaggedBatches(t *testing.T) {
	p := plan.New(&spec.Spec{Path: "loader.json", Tensors: []spec.TensorSpec{{Name: "a"}, {Name: "b"}}}, nil)
	pl := &Pipeline{Parts: &build.Parts{Plan: p}}
	message := func(component int) *tfbridge.Error {
		return &tfbridge.Error{Code: tfbridge.InvalidArgument, Msg: fmt.Sprintf(
			"Cannot batch tensors with different shapes in component %d. First element had shape [3] and element 1 had shape [4].", component)}
	}
	for component, tensor := range []string{"a", "b"} {
		var e *millrace.Error
		if err := pl.ragged(message(component)); !errors.As(err, &e) || e.Tensor != tensor || e.Loader != "loader.json" || e.Class != millrace.ErrSchema ||
			e.Code != int(tfbridge.InvalidArgument) || !strings.Contains(e.Msg, "[3] and [4]") {
			t.Errorf("component %d: %v", component, err)
		}
	}
	for _, failed := range []*tfbridge.Error{message(2), {Msg: "something else"}, {Msg: strings.Replace(message(1).Msg, "component 1", "component 99999999999999999999", 1)}} {
		if err := pl.ragged(failed); err != nil {
			t.Errorf("%v: %v", failed, err)
		}
	}
}

// A failure among remote files names the only one, or says how many there are.
func TestSuspects(t *testing.T) {
	files := []spec.DataFile{{Path: "/local"}, {Path: "gs://a", Remote: true}, {Path: "gs://b", Remote: true}}
	for n, want := range map[int]string{1: " ", 2: "gs://a ", 3: " (in one of 2 remote files, the first is gs://a)"} {
		e := &millrace.Error{}
		suspect(remoteFiles(plan.New(&spec.Spec{Files: files[:n]}, nil)), e)
		if got := e.File + " " + strings.TrimPrefix(e.Msg, " "); got != want {
			t.Errorf("%d files: got %q, want %q", n, got, want)
		}
	}
}

// Datasets are told in the order of the data; those of one name that are read
// together are one stage, and a source with fewer stages comes first.
func TestStageTimesInOrder(t *testing.T) {
	node := func(name string, elements int64, inputs ...int64) *tfproto.ModelProto_Node {
		return &tfproto.ModelProto_Node{Name: name, NumElements: elements, ProcessingTime: 10 * elements, BufferedElements: 1, Inputs: inputs}
	}
	nodes := map[int64]*tfproto.ModelProto_Node{
		1: node("Root", 9, 2), 2: node("Batch", 1, 3), 3: node("Zip", 4, 4, 5),
		4: node("Map", 4, 6), 6: node("Interleave", 4, 7, 8), 7: node("Records", 2), 8: node("Records", 3),
		5: node("Range", 5),
	}
	var got []string
	for _, s := range stageTimes(nodes, 1) {
		got = append(got, fmt.Sprintf("%d %s %d %d %d", s.Datasets, s.Name, s.Elements, s.Time, s.Buffered))
	}
	want := []string{"1 Range 5 50 1", "2 Records 5 50 2", "1 Interleave 4 40 1", "1 Map 4 40 1", "1 Zip 4 40 1", "1 Batch 1 10 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := stageTimes(nodes, 77); got != nil {
		t.Errorf("of no output: %v", got)
	}
}
