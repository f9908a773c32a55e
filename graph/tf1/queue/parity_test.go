package queue_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// scenario is a recording of one queue by testdata/make.py.
type scenario struct {
	Kind       string
	Capacity   int
	Components [][2]any // data type and dimensions
	Options    struct {
		MinAfterDequeue int `json:"min_after_dequeue"`
		Seed            int64
	}
	Steps [][2]any // a step, and its result: a value or a code
}

// A queue behaves as in Python: it returns the same elements in the same order, even if
// it shuffles, and the same codes at the end and after errors.
func TestParity(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "parity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]scenario
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 8 {
		t.Errorf("%d queues were recorded", len(all))
	}
	for name, sc := range all {
		t.Run(name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			q := sc.queue(t, s)
			session := graphtest.NewSession(t, s, nil)
			for i, step := range sc.Steps {
				if diff := cmp.Diff(step[1], any(take(t, s, session, q, step[0].([]any)))); diff != "" {
					t.Errorf("step %d, %v (-want +got)\n%s", i, step[0], diff)
				}
			}
		})
	}
}

// queue adds the queue of a scenario.
func (sc *scenario) queue(t *testing.T, s *graph.Scope) *queue.Queue {
	t.Helper()
	var components []graph.Spec
	for _, c := range sc.Components {
		dims := []int64{}
		for _, d := range c[1].([]any) {
			n, known := d.(float64)
			if !known {
				n = -1
			}
			dims = append(dims, int64(n))
		}
		dtype := map[any]tfbridge.DataType{"int64": tfbridge.Int64, "string": tfbridge.String}[c[0]]
		components = append(components, graph.Spec{DType: dtype, Shape: tfbridge.MakeShape(dims...)})
	}
	switch sc.Kind {
	case "FIFOQueue":
		return queue.NewFIFO(s, sc.Capacity, components, nil)
	case "PaddingFIFOQueue":
		return queue.NewPaddingFIFO(s, sc.Capacity, components, nil)
	case "PriorityQueue":
		return queue.NewPriority(s, sc.Capacity, components, nil)
	case "RandomShuffleQueue":
		return queue.NewRandomShuffle(s, sc.Capacity, components, &queue.RandomShuffleOptions{
			MinAfterDequeue: sc.Options.MinAfterDequeue, Seed: queue.DefaultSeed, Seed2: sc.Options.Seed,
		})
	}
	t.Fatalf("there is no queue %q", sc.Kind)
	return nil
}

// take adds and runs one step, and returns its result in the format of the recording.
func take(t *testing.T, s *graph.Scope, session *tfbridge.Session, q *queue.Queue, step []any) map[string]any {
	t.Helper()
	var op *tfbridge.Operation
	var outputs []tfbridge.Output
	n := func() tfbridge.Output { return s.Const(int32(step[1].(float64))) }
	switch step[0] {
	case "enqueue":
		op = q.Enqueue(s, constants(t, s, q, step[1].([]any))...)
	case "enqueue_many":
		op = q.EnqueueMany(s, constants(t, s, q, step[1].([]any))...)
	case "close":
		op = q.Close(s, step[1].(bool))
	case "size":
		outputs = []tfbridge.Output{q.Size(s)}
	case "is_closed":
		outputs = []tfbridge.Output{q.IsClosed(s)}
	case "dequeue":
		outputs = q.Dequeue(s)
	case "dequeue_many":
		outputs = q.DequeueMany(s, n())
	case "dequeue_up_to":
		outputs = q.DequeueUpTo(s, n())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	var value any
	var err error
	if op != nil {
		err = do(t, session, op)
	} else {
		var values []any
		values, err = fetch(t, session, outputs...)
		value = values
		if err == nil && (step[0] == "size" || step[0] == "is_closed") {
			value = values[0]
		}
	}
	result := map[string]any{"value": value}
	if err != nil {
		var e *tfbridge.Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		result = map[string]any{"code": int(e.Code)}
	}
	var out map[string]any
	text, err := json.Marshal(result)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// constants adds the values of a step as constants.
func constants(t *testing.T, s *graph.Scope, q *queue.Queue, values []any) []tfbridge.Output {
	t.Helper()
	var outputs []tfbridge.Output
	for i, v := range values {
		dims, flat := []int64{}, []any{v}
		for {
			list, ok := flat[0].([]any)
			if !ok {
				break
			}
			dims = append(dims, int64(len(list)))
			var next []any
			for _, part := range flat {
				next = append(next, part.([]any)...)
			}
			if flat = next; len(flat) == 0 {
				break
			}
		}
		outputs = append(outputs, s.Const(tensor(t, q.Components()[i].DType, dims, flat)))
	}
	return outputs
}

// tensor returns a tensor of numbers or strings, which the test closes.
func tensor(t *testing.T, dtype tfbridge.DataType, dims []int64, flat []any) *tfbridge.Tensor {
	t.Helper()
	var made *tfbridge.Tensor
	var err error
	if dtype == tfbridge.String {
		var text []string
		for _, v := range flat {
			text = append(text, v.(string))
		}
		made, err = tfbridge.NewStringTensor(dims, text)
	} else {
		var data []byte
		for _, v := range flat {
			data = binary.NativeEndian.AppendUint64(data, uint64(int64(v.(float64))))
		}
		made, err = tfbridge.ReadTensor(dtype, dims, bytes.NewReader(data))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close() })
	return made
}
