//go:build !race

package tfbridge

// underRace reports whether the race detector is on. It makes a sync.Pool drop values
// at random.
const underRace = false
