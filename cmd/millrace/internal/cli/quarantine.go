package cli

import (
	"cmp"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/figures"
	"millrace/loaders"
	"millrace/observe"
)

// QuarantineFlag is --quarantine. It also counts the bad records that the command
// leaves out.
type QuarantineFlag struct {
	Path string // as given; "": the default of the command

	ledger string // where the records are listed; "": nowhere

	mu   sync.Mutex
	left map[leftOut]bool // true: the rest of the file, too
}

// leftOut identifies a record that was left out.
type leftOut struct {
	file   string
	record int64
}

// Add declares the flag; byDefault says what happens without it.
func (q *QuarantineFlag) Add(c *cobra.Command, byDefault string) {
	c.Flags().StringVar(&q.Path, "quarantine", "",
		"list the records that args.bad_records leaves out in `FILE`, one JSON object each; a list that is there is continued ("+byDefault+")")
}

// Use has the run of the plans list the records that it leaves out, in the file of the
// flag or else in the default one. It returns the path, "" if both are. Plans that are
// nil are skipped.
func (q *QuarantineFlag) Use(p *Program, byDefault string, plans ...*loaders.Plan) string {
	q.ledger = cmp.Or(q.Path, byDefault)
	skips := false
	for _, plan := range plans {
		if plan != nil {
			plan.Quarantine = q.ledger
			skips = skips || plan.BadRecords != nil
		}
	}
	if q.Path != "" && !skips {
		p.Warn(`--quarantine: no config has args.bad_records, so the first bad record ends the run and none is left out`)
	}
	return q.ledger
}

// Listener returns a listener that counts the records that are left out. A record that
// several runs of the command leave out counts once.
func (q *QuarantineFlag) Listener() *observe.Listener {
	return &observe.Listener{LeftOut: func(e observe.LeftOut) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.left == nil {
			q.left = make(map[leftOut]bool)
		}
		q.left[leftOut{e.File, e.Record}] = e.RestOfFile
	}}
}

// Tell says at the end of the command how many records were left out, and where they
// are listed. It says nothing if there were none.
func (q *QuarantineFlag) Tell(p *Program) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.left) == 0 {
		return
	}
	rests := int64(0)
	for _, rest := range q.left {
		if rest {
			rests++
		}
	}
	text := figures.Of(int64(len(q.left)), "bad record")
	if rests > 0 {
		text += fmt.Sprintf(", %s of them with the rest of the file,", figures.Count(rests))
	}
	where := "--quarantine FILE lists them"
	if q.ledger != "" {
		where = "listed in " + millrace.Quote(q.ledger)
	}
	p.Note("%s left out; %s", text, where)
}
