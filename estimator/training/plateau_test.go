package training

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The learning rate falls after the evaluations after which Keras's falls.
func TestPlateauOfKeras(t *testing.T) {
	data, err := os.ReadFile("testdata/plateau.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Losses []float64
		Cases  map[string]struct {
			Patience, Cooldown int64
			Factor, MinLR      float64
			MinDelta           *float64 `json:"min_delta"`
			SmallestRate       float64  `json:"min_lr"`
			Rates              []float64
		}
	}
	if err := json.Unmarshal(data, &recorded); err != nil {
		t.Fatal(err)
	}
	for name, c := range recorded.Cases {
		p := &Plateau{Stop: Stop{Best: Best{Metric: "loss", Min: true}, Patience: c.Patience, MinDelta: 1e-4}, Cooldown: c.Cooldown}
		if c.MinDelta != nil {
			p.MinDelta = *c.MinDelta
		}
		factor, rate, s := 0.1, 0.1, &plateauState{}
		if c.Factor != 0 {
			factor = c.Factor
		}
		for i, loss := range recorded.Losses {
			if s.next(p, int64(i), loss) && rate > c.SmallestRate {
				rate = math.Max(rate*factor, c.SmallestRate)
				s.Wait, s.Cooldown = 0, p.Cooldown
			}
			if math.Abs(rate-c.Rates[i]) > 1e-6*rate {
				t.Errorf("%s: after %v the rate is %v, Keras has %v", name, recorded.Losses[:i+1], rate, c.Rates[i])
			}
		}
	}
}
