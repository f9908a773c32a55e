package rest

import (
	"context"
	"testing"
	"time"

	"millrace/internal/test/testruntime"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

// An answer has the rows of its request, from tensors that other requests share.
func TestAnswerHasItsRows(t *testing.T) {
	testruntime.Need(t)
	var outputs []batching.Output
	for _, o := range []struct {
		name  string
		value any
	}{{"number", [][]float32{{1, 2}, {3, 4}, {5, 6}, {7, 8}}}, {"text", []string{"a", "b", "c", "d"}}} {
		tensor, err := tfbridge.NewTensor(o.value)
		if err != nil {
			t.Fatal(err)
		}
		defer tensor.Close()
		outputs = append(outputs, batching.Output{Name: o.name, Tensor: tensor, Start: 1, Rows: 2})
	}
	for want, format := range map[string]func([]byte, *scratch, []batching.Output) ([]byte, error){
		`{"predictions":[{"number":[3.0,4.0],"text":"b"},{"number":[5.0,6.0],"text":"c"}]}` + "\n": appendRows,
		`{"outputs":{"number":[[3.0,4.0],[5.0,6.0]],"text":["b","c"]}}` + "\n":                     appendColumns,
	} {
		if got, err := format(nil, &scratch{}, outputs); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

// A skipped value ends at its own bracket, whatever its strings contain.
func TestJump(t *testing.T) {
	for _, text := range []string{`["]"]`, `{"a": ["\"}]", {}]}`, `[[1, 2], "[[", {"]": 3}]`, `[]`} {
		s := &scanner{text: []byte(text + `, "]"]}`)}
		if !s.jump() || s.at != len(text) {
			t.Errorf("%s: ends at %d, want %d", text, s.at, len(text))
		}
	}
	for _, text := range []string{`1, [2]`, `"[]"`, `[[1]`, `["]`, ``} {
		if s := (&scanner{text: []byte(text)}); s.jump() || s.at != 0 {
			t.Errorf("%q: ends at %d, want none", text, s.at)
		}
	}
}

// All requests in flight are canceled, wherever in the list of the watcher they stand, and
// those that have ended are not in it.
func TestWatcherCancelsAll(t *testing.T) {
	w := newWatcher(time.Hour)
	var all []*watched
	for range 5 {
		all = append(all, w.add(context.Background(), nil, time.Now()))
	}
	ended := map[int]bool{2: true, 0: true, 4: true}
	for i := range ended {
		all[i].end()
		if all[i].Err() != context.Canceled {
			t.Errorf("request %d has ended: %v", i, all[i].Err())
		}
	}
	if all[1].Err() != nil || w.oldest != all[1] || all[1].newer != all[3] || w.newest != all[3] {
		t.Errorf("the list is not that of requests 1 and 3")
	}
	w.cancelAll()
	for _, i := range []int{1, 3} {
		select {
		case <-all[i].Done():
		default:
			t.Errorf("request %d is not canceled", i)
		}
		all[i].end()
	}
	if w.oldest != nil || w.newest != nil {
		t.Errorf("requests that have ended are watched")
	}
}
