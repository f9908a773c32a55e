package events_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	pb "millrace/internal/base/tfproto"
)

var update = flag.Bool("update", false, "write the event file of testdata/tensorboard; read.py there reads it")

// TensorBoard's own reader finds the fullness of queues in our event files: read.json
// is what it found in the committed file, which the writer still writes.
func TestTensorBoardReadsFullness(t *testing.T) {
	const folder = "testdata/tensorboard"
	want := map[string][][2]float64{ // step and value
		"input_producer/fraction_of_32_full":           {{0, 0}, {1, 0.0625}, {7, 1}},
		"shuffle_batch/fraction_over_1000_of_384_full": {{0, 0}, {1, 0.25}, {7, 0.5}},
	}
	dir := t.TempDir()
	writeFullness(t, dir, want)
	if *update {
		names, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		data, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "events.out.tfevents.1.fullness"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, folder), read(t, dir), protocmp.Transform(), protocmp.IgnoreFields(&pb.Event{}, "wall_time", "source_metadata")); diff != "" {
		t.Errorf("the writer's events differ from those that TensorBoard has read (-want +got)\n%s", diff)
	}
	data, err := os.ReadFile(filepath.Join(folder, "read.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string][][2]float64
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("TensorBoard read (-want +got)\n%s", diff)
	}
}

// writeFullness writes the values as TensorFlow's ScalarSummary makes them.
func writeFullness(t *testing.T, dir string, values map[string][][2]float64) {
	t.Helper()
	w := create(t, dir, nil)
	for i := range 3 {
		summary := &pb.Summary{}
		var step int64
		for _, tag := range []string{"input_producer/fraction_of_32_full", "shuffle_batch/fraction_over_1000_of_384_full"} {
			v := values[tag][i]
			step = int64(v[0])
			summary.Value = append(summary.Value, &pb.Summary_Value{Tag: tag, Value: &pb.Summary_Value_SimpleValue{SimpleValue: float32(v[1])}})
		}
		data, err := proto.Marshal(summary)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Summary(step, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
