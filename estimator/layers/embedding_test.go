package layers

import (
	"testing"

	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/tfbridge"
)

// embedder sums up the embeddings of each example's words.
func embedder(rows int64, o optimizer.Optimizer) *Model {
	return &Model{
		Features: []TensorSpec{{Name: "words", DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1, 4)}},
		Labels:   []TensorSpec{{Name: "label", DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)}},
		Function: func(n *Net, features, labels Tensors) *Spec {
			x := Embedding(n, features["words"], rows, 64, nil)
			y := n.f("Sum", nil, x, n.Const([]int32{1, 2}))
			spec := &Spec{Predictions: Tensors{"y": y}, Optimizer: o}
			if n.Mode != Predict {
				loss := losses.Loss{Type: losses.MeanSquaredError}
				spec.Loss = loss.Add(n.Scope, losses.Values{Labels: labels["label"], Predictions: y})
			}
			return spec
		},
	}
}

// feedWords returns a batch of words that are spread over all rows.
func feedWords(t testing.TB, b *built, rows, batch int64) map[tfbridge.Output]*tfbridge.Tensor {
	t.Helper()
	words, labels := make([]int64, 4*batch), make([]float32, batch)
	for i := range words {
		words[i] = int64(i) * 7919 % rows
	}
	feeds := map[tfbridge.Output]*tfbridge.Tensor{}
	var err error
	if feeds[b.signatures["train"].inputs["words"]], err = tfbridge.NewTensorFromSlice([]int64{batch, 4}, words); err != nil {
		t.Fatal(err)
	}
	if feeds[b.signatures["train"].inputs["label"]], err = tfbridge.NewTensorFromSlice([]int64{batch}, labels); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range feeds {
			f.Close()
		}
	})
	return feeds
}

// A step with SGD or Adagrad makes no tensor as large as an embedding, and changes the
// rows of the batch.
func TestEmbeddingRows(t *testing.T) {
	const rows = 5000
	for _, o := range []optimizer.Optimizer{optimizer.NewSGD(), optimizer.NewAdagrad()} {
		t.Run(o.Name(), func(t *testing.T) {
			b := newBuilt(t, embedder(rows, o))
			for _, op := range before(b.signatures["train"].outputs["loss"].Op) {
				for i := range op.NumOutputs() {
					if s := op.Output(i).Shape(); s.NumDimensions() > 0 && s.Size(0) == rows {
						t.Errorf("%s of type %s has the shape %v", op.Name(), op.Type(), s)
					}
				}
			}
			v := b.find(t, "embeddings")
			old := b.run(t, nil, v.read)[0]
			b.run(t, feedWords(t, b.built, rows, 8), b.signatures["train"].outputs["loss"])
			changed := map[int]bool{}
			for i, value := range b.run(t, nil, v.read)[0] {
				if value != old[i] {
					changed[i/64] = true
				}
			}
			if len(changed) != 32 || !changed[7919%rows] {
				t.Errorf("%d rows changed, want the 32 of the batch", len(changed))
			}
		})
	}
}

// before returns the operations that one depends on, with itself.
func before(op *tfbridge.Operation) []*tfbridge.Operation {
	seen := map[string]bool{op.Name(): true}
	all := []*tfbridge.Operation{op}
	for i := 0; i < len(all); i++ {
		next := all[i].ControlInputs()
		for _, in := range all[i].Inputs() {
			next = append(next, in.Op)
		}
		for _, n := range next {
			if !seen[n.Name()] {
				seen[n.Name()] = true
				all = append(all, n)
			}
		}
	}
	return all
}

// BenchmarkEmbedding is a step of training of an embedding with 64 numbers for each
// word, on batches of 128 examples of 4 words.
func BenchmarkEmbedding(b *testing.B) {
	for _, o := range []optimizer.Optimizer{optimizer.NewSGD(), optimizer.NewAdagrad(), optimizer.NewAdam()} {
		for _, rows := range []int64{1000, 100_000} {
			b.Run(o.Name()+"/rows="+map[int64]string{1000: "1000", 100_000: "100000"}[rows], func(b *testing.B) {
				m := newBuilt(b, embedder(rows, o))
				feeds := feedWords(b, m.built, rows, 128)
				fetch := []tfbridge.Output{m.signatures["train"].outputs["loss"]}
				for b.Loop() {
					out, err := m.session.Run(feeds, fetch, nil)
					if err != nil {
						b.Fatal(err)
					}
					out[0].Close()
				}
			})
		}
	}
}
