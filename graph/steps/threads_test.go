package steps

import (
	"testing"
	"time"

	"millrace/tfbridge"
)

// A run tries both ways by turns after its first step, and keeps the pool only if steps in
// it are clearly shorter.
func TestThreads(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name           string
		inline, pooled time.Duration
		pool           bool
	}{
		{"the pool is faster", 10 * ms, 8 * ms, true},
		{"the pool is slower", 8 * ms, 10 * ms, false},
		{"the pool is hardly faster", 100 * ms, 98 * ms, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := threads{inline: new(tfbridge.Callable), pooled: new(tfbridge.Callable)}
			made := map[*tfbridge.Callable]int{}
			for i := range 100 {
				call := w.callable()
				made[call]++
				d := c.inline
				if call == w.pooled {
					d = c.pooled
				}
				switch i {
				case 0:
					d = time.Second // the first step counts for neither
				case 5, 6:
					d = time.Second // nor do single slow ones
				}
				w.made(d)
			}
			want := trials
			if c.pool {
				want = 100 - 1 - trials
			}
			if made[w.pooled] != want {
				t.Errorf("%d of 100 steps ran in the pool, want %d", made[w.pooled], want)
			}
		})
	}
}

// Steps without a model have one way only.
func TestThreadsWithoutModel(t *testing.T) {
	w := threads{inline: new(tfbridge.Callable)}
	for range 50 {
		if w.callable() != w.inline {
			t.Fatal("a step ran in the pool")
		}
		w.made(time.Second)
	}
}
