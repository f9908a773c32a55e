package mixing

import (
	"math"
	"slices"
	"testing"

	"millrace/internal/test/fixture"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// approximately compares floats.
var approximately = cmpopts.EquateApprox(0, 1e-12)

func TestMixingOf(t *testing.T) {
	starts := []int64{0, 4, 4, 8}
	for _, tt := range []struct {
		name  string
		order []int64
		want  Mixing
	}{
		{"in order", []int64{0, 1, 2, 3, 4, 5, 6, 7}, Mixing{MeanDistance: 1, MedianDistance: 1, OrderCorrelation: 1}},
		{"reversed", []int64{7, 6, 5, 4, 3, 2, 1, 0}, Mixing{MeanDistance: 1, MedianDistance: 1, OrderCorrelation: -1}},
		// Two files read in turns have a large distance although nothing is shuffled.
		{"in turns", []int64{0, 4, 1, 5, 2, 6, 3, 7}, Mixing{MeanDistance: 25.0 / 7, MedianDistance: 4, OrderCorrelation: 1}},
		// One file of three records in order, and one record, which has no order.
		{"weighted", []int64{0, 1, 2, 4}, Mixing{MeanDistance: 4.0 / 3, MedianDistance: 1, OrderCorrelation: 1}},
		{"half of them", []int64{0, 1, 2, 3, 7, 6, 5, 4}, Mixing{MeanDistance: 10.0 / 7, MedianDistance: 1}},
	} {
		if diff := cmp.Diff(tt.want, mixingOf(tt.order, starts), approximately); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
}

// Shares are counted in whole batches. A file without records in a batch has share 0 in
// it.
func TestShares(t *testing.T) {
	starts := []int64{0, 4, 6}
	for _, tt := range []struct {
		name     string
		size     int64
		order    []int64
		batches  int64
		distance float64
		ranges   []Range
	}{
		{"one file after the other", 2, []int64{0, 1, 2, 3, 4, 5}, 3, (1.0/3 + 1.0/3 + 2.0/3) / 3, []Range{{0, 1}, {0, 1}}},
		{"as the epoch", 3, []int64{0, 4, 1, 2, 5, 3}, 2, 0, []Range{{2.0 / 3, 2.0 / 3}, {1.0 / 3, 1.0 / 3}}},
		{"a smaller last batch", 4, []int64{0, 4, 1, 5, 2, 3}, 1, 1.0 / 6, []Range{{0.5, 0.5}, {0.5, 0.5}}},
		{"fewer records than a batch", 100, []int64{5, 4, 3, 2, 1, 0}, 1, 0, []Range{{2.0 / 3, 2.0 / 3}, {1.0 / 3, 1.0 / 3}}},
	} {
		s := newShares(starts, tt.order, tt.size)
		distance, ranges := s.measure(tt.order)
		if s.batches != tt.batches || math.Abs(distance-tt.distance) > 1e-12 {
			t.Errorf("%s: got a distance of %v in %d batches, want %v in %d", tt.name, distance, s.batches, tt.distance, tt.batches)
		}
		if diff := cmp.Diff(tt.ranges, ranges, approximately); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.name, diff)
		}
	}
}

// A config that does not shuffle differs from the exact order of the same records,
// whose expected distance is a third of n. The report is the same for the same seed.
func TestMeasure(t *testing.T) {
	plan := checked(t, newDataset(t, fixture.Object{"target_batch_size": 50, "drop_remainder": true}, 300, 0, 300))
	r, err := Measure(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Config.MeanDistance != 1 || math.Abs(r.Exact.MeanDistance-200) > 20 {
		t.Errorf("got a mean distance of %v and %v, want 1 and about 200", r.Config.MeanDistance, r.Exact.MeanDistance)
	}
	if math.Abs(r.Exact.OrderCorrelation) > 0.15 || r.Config.OrderCorrelation < 0.999 {
		t.Errorf("got a correlation of %v and %v, want 1 and about 0", r.Config.OrderCorrelation, r.Exact.OrderCorrelation)
	}
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Name)
		if f.Share != 0.5 || f.Config != (Range{0, 1}) || f.Exact.Lowest <= 0.2 || f.Exact.Highest >= 0.8 {
			t.Errorf("got %+v, want half of the epoch, none or all of a batch, and about half of an exact one", f)
		}
	}
	if want := []string{"0.tfrecords", "2.tfrecords"}; !slices.Equal(names, want) || r.Batches != 12 {
		t.Errorf("got %v in %d batches, want %v in 12", names, r.Batches, want)
	}
	again, err := Measure(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, again); diff != "" {
		t.Errorf("measured twice: (-first +second)\n%s", diff)
	}
}
