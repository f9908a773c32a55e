package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/estimator/layers"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// kerasLayers saves the model of keras.md that is written in Go.
func kerasLayers(dir string) error {
	conv := func(n *layers.Net, x tfbridge.Output, filters int64) tfbridge.Output {
		return layers.Conv2D(n, x, filters, []int64{3, 3}, nil)
	}
	model := &layers.Model{
		Features: []layers.TensorSpec{{Name: "image", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 8, 8, 1)}},
		Labels:   []layers.TensorSpec{{Name: "label", DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}},
		Function: func(n *layers.Net, features, labels layers.Tensors) *layers.Spec {
			y := layers.Relu(n, conv(n, features["image"], 4))
			y = layers.BatchNormalization(n, conv(n, y, 8), nil)
			y = layers.Dropout(n, layers.Flatten(n, layers.Relu(n, y)), 0.2)
			y = layers.Dense(n, y, 4, nil)
			spec := &layers.Spec{Predictions: layers.Tensors{"output_0": y}}
			if n.Mode != layers.Predict {
				loss := losses.Loss{Type: losses.SparseSoftmaxCrossEntropy}
				spec.Loss = loss.Add(n.Scope, losses.Values{Labels: labels["label"], Predictions: y})
				spec.Optimizer = optimizer.NewAdam()
			}
			return spec
		},
	}
	if err := layers.Save(dir, model); err != nil {
		return err
	}
	return nil
}

// The program of keras.md is the function above, which runs. cmd/millrace has the test of
// the page's commands.
func TestKerasLayers(t *testing.T) {
	page, err := os.ReadFile("keras.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("keras_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```go\n")
	block, _, _ = strings.Cut(block, "```")
	_, body, _ := strings.Cut(string(source), "func kerasLayers(dir string) error {\n")
	body, _, _ = strings.Cut(body, "\treturn nil\n}\n")
	if got := strings.ReplaceAll("\n"+body, "\n\t", "\n"); got != "\n"+block {
		t.Errorf("the program of keras.md is not the function kerasLayers:\n%s\nwant\n%s", block, got)
	}
	testruntime.Need(t)
	if err := kerasLayers(filepath.Join(t.TempDir(), "model")); err != nil {
		t.Fatal(err)
	}
}
