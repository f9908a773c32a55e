package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/estimator/run"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord"
)

// eventsIn returns the events of a folder's only event file.
func eventsIn(t *testing.T, dir string) []*tfproto.Event {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*tfevents*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("event files %q (%v), want one", files, err)
	}
	var all []*tfproto.Event
	for record, err := range tfrecord.Records(files[0], nil) {
		if err != nil {
			t.Fatal(err)
		}
		e := &tfproto.Event{}
		if err := proto.Unmarshal(record.Data, e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// optimizedConfig is a run config that trains a signature which only predicts.
func optimizedConfig(t *testing.T) string {
	return runConfig(t, fixture.Points(t, 4, fixture.Shuffled()), func(c fixture.Object) {
		c["model"].(fixture.Object)["train"] = fixture.Object{
			"signature": "serving_default",
			"loss":      fixture.Object{"type": "sparse_softmax_cross_entropy", "predictions": "scores", "labels": "id"},
			"optimizer": fixture.Object{"type": "adam"},
		}
	})
}

// The steps that --profile names are traced, and no others.
func TestTrainProfile(t *testing.T) {
	testruntime.Need(t)
	dir, config := filepath.Join(t.TempDir(), "run"), optimizedConfig(t)
	trained(t, 0, "train", config, "--dir", dir, "--steps", "20", "--profile", "10:12")
	var steps []int64
	for _, e := range eventsIn(t, filepath.Join(dir, "events", "train")) {
		if m := e.GetTaggedRunMetadata(); m != nil && len(m.GetRunMetadata()) > 0 {
			steps = append(steps, e.GetStep())
		}
	}
	if !slices.Equal(steps, []int64{10, 11, 12}) {
		t.Errorf("traces of the steps %v, want 10 to 12", steps)
	}
	text, err := os.ReadFile(filepath.Join(dir, "profile", "steps-10-12.json"))
	if err != nil {
		t.Fatal(err)
	}
	var timeline struct {
		TraceEvents []struct{ Name, Ph string }
	}
	if err := json.Unmarshal(text, &timeline); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, e := range timeline.TraceEvents {
		counts[e.Name]++
	}
	if counts["process_name"] != 1 || counts["IteratorGetNextSync"] != 3 || counts["ResourceApplyAdam"]%3 != 0 || counts["ResourceApplyAdam"] == 0 {
		t.Errorf("the timeline has %v; want one process, and the operations of three steps", counts)
	}
	var input run.Input
	if text, err = os.ReadFile(filepath.Join(dir, "input.json")); err == nil {
		err = json.Unmarshal(text, &input)
	}
	if err != nil || len(input.Stages) == 0 || len(input.Times) == 0 {
		t.Fatalf("input.json (%v): %s", err, text)
	}
	if last := input.Times[len(input.Times)-1]; last.Name != "Prefetch" || last.Elements < 1 || last.Seconds <= 0 {
		t.Errorf("the last stage is %+v, want a prefetch of batches", last)
	}
	// A profiled run ends with the same loss as one without a profile.
	plain := filepath.Join(t.TempDir(), "plain")
	trained(t, 0, "train", config, "--dir", plain)
	_, said := trained(t, 0, "train", config, "--dir", dir, "--steps", "22", "--profile", "10:12")
	if !strings.Contains(said, "none of the steps 10 to 12") {
		t.Errorf("steps that were made before: %s", said)
	}
	trained(t, 0, "train", config, "--dir", dir)
	if got, want := lossAt(t, dir, 60), lossAt(t, plain, 60); got != want {
		t.Errorf("loss %v after a profile, %v without", got, want)
	}
	for _, wrong := range []string{"", "5", "a:b", "0:3", "5:4", "1:101", "1:2:3"} {
		if _, said := trained(t, 2, "train", config, "--dir", dir, "--profile", wrong); !strings.Contains(said, "--profile") {
			t.Errorf("--profile %q: %s", wrong, said)
		}
	}
}

// lossAt returns the loss that a run wrote for TensorBoard at a step.
func lossAt(t *testing.T, dir string, step int64) float32 {
	t.Helper()
	loss, ok := scalars(t, filepath.Join(dir, "events", "train"), "loss")[step]
	if !ok {
		t.Fatalf("%s has no loss of step %d", dir, step)
	}
	return loss
}

// A run writes its graph once, and on request histograms of variables and gradients.
func TestTrainEvents(t *testing.T) {
	testruntime.Need(t)
	dir := filepath.Join(t.TempDir(), "run")
	trained(t, 0, "train", optimizedConfig(t), "--dir", dir, "--histograms", "30")
	nodes := map[string]bool{} // the types of the graph's operations
	graphs := 0
	histograms := map[string][]int64{} // steps by group
	for _, e := range eventsIn(t, filepath.Join(dir, "events", "train")) {
		if def := e.GetGraphDef(); def != nil {
			g := &tfproto.GraphDef{}
			if err := proto.Unmarshal(def, g); err != nil {
				t.Fatal(err)
			}
			graphs++
			for _, n := range g.GetNode() {
				nodes[n.GetOp()] = true
			}
		}
		for _, v := range e.GetSummary().GetValue() {
			if v.GetMetadata().GetPluginData().GetPluginName() == "histograms" {
				group, _, _ := strings.Cut(v.GetTag(), "/")
				histograms[group] = append(histograms[group], e.GetStep())
			}
		}
	}
	// The graph has the pipeline, and the step that changes the variables.
	if graphs != 1 || !nodes["IteratorGetNext"] || !nodes["ResourceApplyAdam"] {
		t.Errorf("%d graphs with operations %v", graphs, nodes)
	}
	for _, group := range []string{"variables", "gradients"} {
		if steps := histograms[group]; len(steps) < 2 || steps[0] != 30 || steps[len(steps)-1] != 60 {
			t.Errorf("histograms of %s at steps %v, want 30 and 60", group, steps)
		}
	}
}
