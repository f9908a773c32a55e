package estimator

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/estimator/metrics"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/gradients"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// What documentation says of the zero value of each option is what a training
// does. What a program has set stays.
func TestDefaultsOfTraining(t *testing.T) {
	want := &TrainOptions{Signature: "train", Loss: "loss", LogEvery: 50, CheckpointEvery: 500, EvaluateEvery: 500, Keep: 5, SaveTimeout: 30 * time.Second}
	if got := (&TrainOptions{}).withDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	set := &TrainOptions{Signature: "a", Loss: "b", LogEvery: 1, CheckpointEvery: 2, EvaluateEvery: 3, Keep: 4, SaveTimeout: 5, Steps: 6, Init: "c"}
	if got := set.withDefaults(); !reflect.DeepEqual(got, set) || got == set {
		t.Errorf("got %+v, want a copy of %+v", got, set)
	}
	if got := (&TrainOptions{Objective: &Objective{}}).withDefaults(); got.Signature != "" {
		t.Errorf("with an objective the signature is %q, want the model's default one", got.Signature)
	}
}

// The best evaluation is the first of equals, by more than what counts, and no
// NaN. The evaluations after it are counted.
func TestBestEvaluation(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name   string
		min    bool
		delta  float64
		values []float64
		best   []int64 // after each value, counted from 1; 0: none
		since  []int64
	}{
		{"most", false, 0, []float64{1, 1, 2, 1, 3}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"least", true, 0, []float64{3, 3, 2, 4, -1}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"most by more than a quarter", false, 0.25, []float64{1, 1.25, 1.5, 1.75, 2}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"least by more than a quarter", true, 0.25, []float64{2, 1.75, 1.5, 1.25, 1}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"with NaN", true, 0, []float64{nan, 2, nan, nan, 1}, []int64{0, 2, 2, 2, 5}, []int64{0, 0, 1, 2, 0}},
	} {
		b := &Best{Metric: "m", Min: tt.min}
		var state *bestState
		for i, value := range tt.values {
			state = b.next(state, int64(i+1), value, tt.delta)
			switch {
			case tt.best[i] == 0 && state != nil:
				t.Errorf("%s: after %v: %+v", tt.name, tt.values[:i+1], state)
			case tt.best[i] == 0:
			case state == nil || state.Step != tt.best[i] || state.Since != tt.since[i] || state.Value != tt.values[state.Step-1]:
				t.Errorf("%s: after %v: %+v, want step %d and %d after it", tt.name, tt.values[:i+1], state, tt.best[i], tt.since[i])
			}
		}
	}
}

// A training stops early after the given number of evaluations without improvement, at
// least one.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		stop  *Stop
		state *bestState
		want  bool
	}{
		{nil, &bestState{Since: 9}, false},
		{&Stop{Patience: 2}, nil, false},
		{&Stop{Patience: 2}, &bestState{Since: 1}, false},
		{&Stop{Patience: 2}, &bestState{Since: 2}, true},
		{&Stop{}, &bestState{}, false},
		{&Stop{}, &bestState{Since: 1}, true},
	} {
		run := &training{o: &TrainOptions{Stop: tt.stop}, state: trainState{Stop: tt.state}}
		if got := run.stopped(); got != tt.want {
			t.Errorf("%+v after %+v: stopped: %v, want %v", tt.stop, tt.state, got, tt.want)
		}
	}
	steps := &StepRange{First: 3, Last: 5}
	for step, want := range map[int64]bool{2: false, 3: true, 4: true, 5: true, 6: false} {
		if steps.contains(step) != want {
			t.Errorf("steps 3 to 5 contain %d: %v", step, !want)
		}
	}
}

// Of an evaluation only numbers decide anything, and only finite ones are kept.
func TestMetricsThatAreNumbers(t *testing.T) {
	e := &Evaluation{Names: []string{"loss", "all"}, Values: map[string]metrics.Value{
		"loss": {Number: 0.5}, "zero": {}, "nan": {Number: math.NaN()}, "inf": {Number: math.Inf(1)}, "less": {Number: math.Inf(-1)},
		"all": {Matrix: [][]float64{{1}}},
	}}
	if diff := cmp.Diff(map[string]float64{"loss": 0.5, "zero": 0}, e.finite()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if v, err := e.metric("loss"); v != 0.5 || err != nil {
		t.Errorf("loss: %v, %v", v, err)
	}
	for _, name := range []string{"all", "depth"} {
		if _, err := e.metric(name); err == nil {
			t.Errorf("%s is a number", name)
		}
	}
}

// The time of a step ends with the step. Of it, what passed before the batch
// arrived was spent waiting; a batch that was there before cost nothing.
func TestClock(t *testing.T) {
	var c clock
	for _, arrived := range []time.Duration{-time.Hour, time.Hour} {
		c.start()
		c.stop(4, sinceEpoch()+arrived)
	}
	first := c.mark()
	if first.Steps != 2 || first.Examples != 8 || first.Duration <= 0 || first.InputWait <= 0 || first.InputWait >= first.Duration {
		t.Errorf("two steps, of which one waited: %+v", first)
	}
	c.start()
	c.stop(1, 0)
	second := c.mark()
	if second.Steps != 1 || second.Examples != 1 || second.InputWait != 0 || second.Duration <= 0 {
		t.Errorf("one more step: %+v", second)
	}
	if c.total.Steps != 3 || c.total.Examples != 9 || c.total.Duration != first.Duration+second.Duration || c.total.InputWait != first.InputWait {
		t.Errorf("all: %+v", c.total)
	}
}

// scalar returns the value of a scalar of any number type, and fails for other tensors.
func TestScalars(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  float64
		ok    bool
	}{
		{float32(1.5), 1.5, true}, {2.5, 2.5, true}, {tfbridge.NewFloat16(0.5), 0.5, true}, {tfbridge.NewBFloat16(0.25), 0.25, true},
		{int32(-3), -3, true}, {int64(4), 4, true},
		{"5", 0, false}, {true, 0, false}, {[]float32{6}, 0, false}, {uint8(7), 0, false},
	} {
		x, err := tfbridge.NewTensor(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if got, ok := scalar(x); got != tt.want || ok != tt.ok {
			t.Errorf("%v: %v, %v", tt.value, got, ok)
		}
	}
	if v, ok := scalar(nil); v != 0 || ok {
		t.Errorf("no tensor: %v, %v", v, ok)
	}
}

// Patterns choose variables by each of their names, in which a slash is a character
// like others.
// Without patterns those are trained that Python did not mark otherwise.
func TestPatternsOfVariables(t *testing.T) {
	v := gradients.Variable{Name: "dense/kernel"}
	named := variableName{path: "layers/0/kernel", object: &savedmodel.VariableObject{Name: "head/w", Trainable: true}}
	for pattern, want := range map[string]bool{
		"layers/*": true, "*kernel": true, "layers/0/kernel": true, "layers/?/kernel": true, "dense/*": true, "head/[vw]": true, "*": true, "layers?0/kernel": true,
		"layers": false, "kernel": false, "layers/0": false, "layers?kernel": false, "": false, "[": false,
	} {
		if got := named.wanted(v, []string{"nothing", pattern}); got != want {
			t.Errorf("%q: %v, want %v", pattern, got, want)
		}
	}
	frozen := &savedmodel.VariableObject{Name: "mean"}
	for _, tt := range []struct {
		n        variableName
		patterns []string
		want     bool
	}{
		{named, nil, true}, {variableName{}, nil, true}, {variableName{object: frozen}, nil, false},
		{variableName{object: frozen}, []string{"mean"}, true}, {variableName{}, []string{""}, false}, {named, []string{}, false},
	} {
		if got := tt.n.wanted(v, tt.patterns); got != tt.want {
			t.Errorf("%+v of %q: %v", tt.n, tt.patterns, got)
		}
	}
	if got := named.all(v); !slices.Equal(got, []string{"head/w", "layers/0/kernel", "dense/kernel"}) {
		t.Errorf("called %q", got)
	}
	if a, b := named.name(v), (variableName{}).name(v); a != "layers/0/kernel" || b != "dense/kernel" {
		t.Errorf("named %q and %q", a, b)
	}
}

// Small models run each operation on one thread, unless the program has said
// otherwise.
func TestSessionOfSmallModels(t *testing.T) {
	own := &tfbridge.SessionOptions{IntraOpThreads: 3}
	for _, tt := range []struct {
		bytes []int64
		set   *tfbridge.SessionOptions
		want  *tfbridge.SessionOptions
	}{
		{nil, nil, &tfbridge.SessionOptions{IntraOpThreads: 1, SoftPlacement: true}},
		{[]int64{1 << 19, 1 << 19}, nil, &tfbridge.SessionOptions{IntraOpThreads: 1, SoftPlacement: true}},
		{[]int64{1 << 19, 1<<19 + 1}, nil, nil},
		{nil, own, own}, {[]int64{1 << 30}, own, own},
	} {
		m := &CheckedModel{saved: &savedmodel.Model{}, options: ModelOptions{Session: tt.set}}
		for _, n := range tt.bytes {
			m.saved.Variables = append(m.saved.Variables, savedmodel.Variable{Bytes: n})
		}
		if got := m.session(); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%d bytes: %+v, want %+v", tt.bytes, got, tt.want)
		}
	}
}

// Steps that draw random numbers, read variables or look up tables may run beside
// others; steps that assign, count or write may not.
func TestOperationsThatChangeState(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	w := &stateWalk{graph: s.Graph(), types: map[string]bool{}, functions: map[string]*tfproto.FunctionDef{}, effects: map[string]bool{}}
	for _, op := range []string{
		"Add", "MatMul", "Const", "Placeholder", "Identity", "RefIdentity", "RefSwitch", "RefMerge", "StatelessRandomUniform",
		"VarHandleOp", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp",
		"Variable", "VariableV2", "IsVariableInitialized", "HashTable", "HashTableV2", "MutableHashTableV2", "MutableDenseHashTableV2",
		"LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2",
		"PartitionedCall", "StatefulPartitionedCall", "If", "Case", "While", "StatelessIf", "StatelessWhile", "Assert", "Print", "PrintV2",
		"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal",
		"RandomShuffle", "Multinomial", "RandomGammaGrad", "RandomGamma", "RandomPoissonV2",
	} {
		for range 2 { // the second answer is remembered
			if w.typeChanges(op) {
				t.Errorf("%s changes state", op)
			}
		}
	}
	for op := range readers {
		if !hasEffect(s.Graph(), op) {
			t.Errorf("%s is listed although TensorFlow says that it has no state", op)
		}
	}
	for _, op := range []string{
		"Assign", "AssignAdd", "AssignVariableOp", "AssignAddVariableOp", "ResourceApplyAdam", "ApplyMomentum", "ScatterUpdate", "CountUpTo",
		"ResourceScatterAdd", "LookupTableInsertV2", "LookupTableImportV2", "QueueEnqueueV2", "QueueDequeueV2", "WriteFile", "NoSuchOperation",
	} {
		for range 2 {
			if !w.typeChanges(op) {
				t.Errorf("%s changes no state", op)
			}
		}
	}
}

// A function changes state if an operation of it does, or a function that it
// calls, by its name or by an attribute. Functions that call each other end.
func TestFunctionsThatChangeState(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	call := func(op string, attrs map[string]*tfproto.AttrValue) *tfproto.NodeDef {
		return &tfproto.NodeDef{Op: op, Attr: attrs}
	}
	attr := func(names ...string) map[string]*tfproto.AttrValue {
		var list []*tfproto.NameAttrList
		for _, name := range names {
			list = append(list, &tfproto.NameAttrList{Name: name})
		}
		if len(list) == 1 {
			return map[string]*tfproto.AttrValue{"f": {Value: &tfproto.AttrValue_Func{Func: list[0]}}}
		}
		return map[string]*tfproto.AttrValue{"branches": {Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Func: list}}}}
	}
	w := &stateWalk{graph: s.Graph(), types: map[string]bool{}, effects: map[string]bool{}, functions: map[string]*tfproto.FunctionDef{
		"reads":  {NodeDef: []*tfproto.NodeDef{call("ReadVariableOp", nil), call("MatMul", nil)}},
		"writes": {NodeDef: []*tfproto.NodeDef{call("ReadVariableOp", nil), call("AssignVariableOp", nil)}},
		"calls":  {NodeDef: []*tfproto.NodeDef{call("PartitionedCall", attr("writes"))}},
		"itself": {NodeDef: []*tfproto.NodeDef{call("itself", nil), call("MatMul", nil)}},
		"empty":  {},
	}}
	for _, tt := range []struct {
		name string
		n    *tfproto.NodeDef
		want bool
	}{
		{"of no function", call("MatMul", nil), false},
		{"that reads", call("reads", nil), false},
		{"that writes", call("writes", nil), true},
		{"again", call("writes", nil), true},
		{"that calls one that writes", call("calls", nil), true},
		{"that calls itself", call("itself", nil), false},
		{"of an empty one", call("empty", nil), false},
		{"by attribute", call("StatefulPartitionedCall", attr("writes")), true},
		{"by attribute, that reads", call("StatefulPartitionedCall", attr("reads")), false},
		{"one of several", call("Case", attr("reads", "empty", "calls")), true},
		{"none of several", call("Case", attr("reads", "empty", "itself")), false},
		{"of an unknown one", call("PartitionedCall", attr("gone")), false},
	} {
		if got := w.changes(tt.n); got != tt.want {
			t.Errorf("a call %s: changes %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The components of a dataset's elements get the names of the call, or of the fields. A
// component that no model can take is refused by name.
func TestComponentNames(t *testing.T) {
	scalar := dataset.DenseSpec(tfbridge.Float, tfbridge.ScalarShape())
	fields := dataset.FieldsSpec(map[string]*dataset.Structure{"y": scalar, "x": scalar})
	pair := dataset.TupleSpec(scalar, scalar)
	for _, tt := range []struct {
		element     *dataset.Structure
		names, want []string
		problem     string
	}{
		{fields, nil, []string{"x", "y"}, ""},
		{fields, []string{"a", "b"}, []string{"a", "b"}, ""},
		{pair, []string{"b", "a"}, []string{"b", "a"}, ""},
		{pair, nil, nil, "have no names; give them"},
		{pair, []string{"a"}, nil, "1 names for the 2 components"},
		{pair, []string{"a", "a"}, nil, `two components are named "a"`},
		{dataset.TupleSpec(), nil, nil, "the dataset has no components"},
		{dataset.SparseSpec(tfbridge.Float, tfbridge.MakeShape(-1)), []string{"a"}, nil, `component "a" is a`},
	} {
		got, err := componentNames(tt.element, tt.names)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%v named %q: got %q, %v; want %q, %q", tt.element, tt.names, got, err, tt.want, tt.problem)
		}
	}
}
