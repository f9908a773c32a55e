package native_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// Batches of records with lists have static shapes as far as possible: for each part of
// a list, padded or not, and for the context.
func TestSpecsOfLists(t *testing.T) {
	s := newScope(t)
	zero := s.Zeros(tfbridge.Float)
	q := &native.Sequence{Features: listFeatures(), Components: []native.Component{
		{Feature: 2, Part: native.Values, Size: -1}, {Feature: 4, Part: native.Values, Size: -1},
		{Feature: 4, Part: native.Splits, Size: -1}, {Feature: 4, Part: native.Lengths, Size: -1},
		{Feature: 4, Part: native.Elements, Size: -1}, {Feature: 4, Part: native.Mask, Size: -1}, {Feature: 4, Part: native.Mask, Size: 7},
		{Feature: 4, Part: native.Padded, Size: -1, Fill: zero}, {Feature: 4, Part: native.Padded, Size: 7, Fill: zero},
	}}
	records := dataset.FromTensors(s, s.Const("x"))
	const parts = "int16[N, 2, 2] float32[?, 3] int64[M] int64[N] int64[N] bool[N, ?] bool[N, 7] float32[N, ?, 3] float32[N, 7, 3]"
	unknown := strings.NewReplacer("N", "?", "M", "?").Replace(parts)
	for name, tt := range map[string]struct {
		specs []graph.Spec
		want  string
	}{
		"batches":           {native.ParseSequences(records, 4, q, nil).Specs(), unknown},
		"batches that drop": {native.ParseSequences(records, 4, q, &native.ParseOptions{Drop: true}).Specs(), strings.NewReplacer("N", "4", "M", "5").Replace(parts)},
		"vectors":           {graph.SpecsOf(native.DecodeSequences(s, s.Const([]string{"x"}), q, nil)), unknown},
		"one epoch": {native.Sequences(s, s.Const([]string{"x"}), s.Const([]int64{1}), q,
			&native.ExamplesOptions{BatchSize: 1, Epochs: 1}).Specs(), unknown},
		"endless": {native.Sequences(s, s.Const([]string{"x"}), s.Const([]int64{1}), q,
			&native.ExamplesOptions{BatchSize: 4}).Specs(), strings.NewReplacer("N", "4", "M", "5").Replace(parts)},
		"examples": {native.Examples(s, s.Const([]string{"x"}), s.Const([]int64{1}), corruptFeatures(),
			&native.ExamplesOptions{BatchSize: 4, Epochs: 1}).Specs(), "int64[?] float32[?, 3]"},
		"examples that drop": {native.Examples(s, s.Const([]string{"x"}), s.Const([]int64{1}), corruptFeatures(),
			&native.ExamplesOptions{BatchSize: 4, Epochs: 1, Drop: true}).Specs(), "int64[4] float32[4, 3]"},
		"examples one by one": {native.Examples(s, s.Const([]string{"x"}), s.Const([]int64{1}), corruptFeatures(), nil).Specs(), "int64[1] float32[1, 3]"},
		"parsed examples":     {native.Parse(records, 4, corruptFeatures(), nil).Specs(), "int64[?] float32[?, 3]"},
	} {
		if got := fmt.Sprint(tt.specs); got != "["+tt.want+"]" {
			t.Errorf("%s: error %v\n got %s\nwant [%s]", name, s.Err(), got, tt.want)
		}
	}
}

// Windows, and batches of them, have static shapes as far as possible. Windows of
// several sizes cannot be batched.
func TestSpecsOfWindows(t *testing.T) {
	build := func(s *graph.Scope, o *native.WindowsOptions) *dataset.Dataset {
		return native.Windows(s, s.Const([]string{"x"}), s.Const([]int64{1}), sequenceFeatures(), o)
	}
	for want, o := range map[string]native.WindowsOptions{
		"int64[4] int16[4, 2] float32[4, 2]":             {Min: 4, Max: 4, Epochs: 1},
		"int64[12] int16[12, 2] float32[12, 2]":          {Min: 4, Max: 4, Epochs: 1, WholeRecords: true},
		"int64[?] int16[?, 2] float32[?, 2]":             {Min: 4, Max: 5, Epochs: 1, WholeRecords: true},
		"int64[?, 4] int16[?, 4, 2] float32[?, 4, 2]":    {Min: 4, Max: 4, Epochs: 1, BatchSize: 1},
		"int64[1, 4] int16[1, 4, 2] float32[1, 4, 2]":    {Min: 4, Max: 4, Epochs: 1, BatchSize: 1, Drop: true},
		"int64[2, 12] int16[2, 12, 2] float32[2, 12, 2]": {Min: 4, Max: 4, BatchSize: 2, WholeRecords: true},
	} {
		s := newScope(t)
		if got := fmt.Sprint(build(s, &o).Specs()); got != "["+want+"]" {
			t.Errorf("%+v: error %v\n got %s\nwant [%s]", o, s.Err(), got, want)
		}
	}
	for want, o := range map[string]*native.WindowsOptions{
		"the WindowsOptions are nil":                            nil,
		"windows of 4 to 5 have not one size and make no batch": {Min: 4, Max: 5, BatchSize: 1},
	} {
		s := newScope(t)
		build(s, o)
		if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %s", o, err, want)
		}
	}
}

// Windows are cut from numbers along a first axis.
func TestWindowsOfOddFeatures(t *testing.T) {
	for _, f := range []native.Feature{{Key: "x", Kind: native.Bytes, Shape: []int64{3}}, {Key: "x", Kind: native.Int}} {
		s := newScope(t)
		native.Windows(s, s.Const([]string{"x"}), s.Const([]int64{1}), []native.Feature{f}, &native.WindowsOptions{Min: 1, Max: 1})
		if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), `feature "x": no numbers along a first axis`) {
			t.Errorf("%+v: got %v", f, err)
		}
	}
}
