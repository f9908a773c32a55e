//go:build race

package tfbridge

// underRace says that the race detector is on, under which pools forget.
const underRace = true
