package leak

import "testing"

// Growth measures the growth of the process's memory over many rounds.
type Growth struct {
	rounds  int
	settled int64 // resident size after the first fifth of the rounds
}

// NewGrowth returns a Growth for a number of rounds.
func NewGrowth(rounds int) *Growth { return &Growth{rounds: rounds} }

// Round is called after each round, from 0 on. Allocators settle in the first
// fifth of them.
func (g *Growth) Round(t testing.TB, i int) {
	t.Helper()
	if i == g.rounds/5 {
		g.settled = Resident(t)
	}
}

// Check fails the test if the resident size grew by more than slack bytes
// after the first fifth of the rounds.
func (g *Growth) Check(t testing.TB, slack int64) {
	t.Helper()
	if grown := Resident(t) - g.settled; grown > slack {
		t.Errorf("resident size grew by %d bytes over the last four fifths of %d rounds", grown, g.rounds)
	}
}
