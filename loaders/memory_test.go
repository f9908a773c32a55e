package loaders_test

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/test/fixture"
	"millrace/loaders"
)

// On a machine with less memory, a config that needs half a terabyte gets a warning,
// and is refused before TensorFlow allocates anything.
func TestConfigAsksForMemory(t *testing.T) {
	huge := []int{1 << 16, 1 << 21}
	constant := []fixture.Object{{"to_name": "c", "type": "const", "args": fixture.Object{"shape": huge, "dtype": "float32", "value": 1}}}
	tests := map[string]struct {
		tensor string
		set    func(*fixture.Dataset)
	}{
		"a constant": {"c", func(d *fixture.Dataset) { d.Args["secondary_features"] = constant }},
		"a constant that is sliced": {"c", func(d *fixture.Dataset) {
			d.Args["secondary_features"] = constant
			d.Args["processing_steps"] = []fixture.Object{{"type": "slice", "tensor": "c", "args": fixture.Object{"slice": "0, 0"}}}
		}},
		"padding": {"xs", func(d *fixture.Dataset) {
			d.Args["padding"] = []fixture.Object{{"tensor": "xs", "shape": []int{1 << 30}}}
			d.Args["target_batch_size"] = 100
			d.WriteRecords(t, "b.tfrecords", fixture.Records(0, 99)...)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := fixture.New(t)
			d.Args["target_batch_size"] = 1
			d.WriteRecords(t, "a.tfrecords", fixture.Record(0))
			tt.set(d)
			d.Save(t)
			plan, problems := loaders.Check(d.Config(), nil)
			if plan == nil {
				t.Fatal(problems)
			}
			if name != "a constant that is sliced" && (len(problems) == 0 || !strings.Contains(problems.Error(), "of memory")) {
				t.Errorf("warnings: %v", problems)
			}
			_, err := loaders.OpenPlan(plan, nil)
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrLimit || e.Tensor != tt.tensor {
				t.Errorf("got %v, want a limit and the tensor", err)
			}
		})
	}
}
