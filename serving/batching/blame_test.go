package batching

import (
	"errors"
	"slices"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// A request with data that the model refuses fails alone. The other requests of its
// batch get their answers, in batches of allowed sizes.
func TestBadDataFailsItsOwnRequest(t *testing.T) {
	testruntime.Need(t)
	refused := &tfbridge.Error{Func: "TF_SessionRun", Code: tfbridge.InvalidArgument, Msg: "negative"}
	for _, code := range []tfbridge.Code{tfbridge.InvalidArgument, tfbridge.Internal} {
		refused.Code = code
		m := &doubler{
			dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1), began: make(chan string, 100), gate: make(chan struct{}, 100),
			fail: func(x *tfbridge.Tensor) error {
				values, _ := tfbridge.View[float32](x)
				if slices.ContainsFunc(values, func(v float32) bool { return v < 0 }) {
					return refused
				}
				return nil
			},
		}
		b := newBatcher(t, m, Options{MaxBatchSize: 8, AllowedBatchSizes: []int{2, 4, 8}, Scheduler: NewScheduler(1)})
		first := ask(t.Context(), b, []float32{0})
		<-m.began // later requests wait, and run together
		var answers []<-chan answer
		for i := range 7 {
			x := []float32{float32(i)}
			if i == 5 {
				x[0] = -1
			}
			answers = append(answers, ask(t.Context(), b, x))
			waitFor(b, i+1)
		}
		for range 100 {
			m.gate <- struct{}{}
		}
		if a := <-first; a.err != nil {
			t.Error(a.err)
		}
		for i, c := range answers {
			a := <-c
			if bad := i == 5 || code != tfbridge.InvalidArgument; bad != errors.Is(a.err, code) {
				t.Errorf("%v: request %d: got %v", code, i, a)
			} else if !bad && !slices.Equal(a.values, []float32{2 * float32(i)}) {
				t.Errorf("request %d: got %v", i, a.values)
			}
		}
		want := []int64{2, 8}
		if code == tfbridge.InvalidArgument {
			want = []int64{2, 8, 4, 4, 2, 2, 2, 2} // 7; 3, 4; of these 4: 2, 2; of these 2: 1, 1
		}
		if got := m.batches(); !slices.Equal(got, want) {
			t.Errorf("batches of %v rows, want %v", got, want)
		}
	}
}
