package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/loaders"
	"millrace/observe"
	"millrace/sandbox"
)

// QuarantineFlag is --quarantine. It also counts the bad records that the command
// leaves out.
type QuarantineFlag struct {
	Path string // as given; "": the default of the command

	ledger string // where the records are listed; "": nowhere
	skips  bool   // a plan leaves out bad records
	made   bool   // Needs has made the ledger

	mu   sync.Mutex
	left map[leftOut]bool // true: the rest of the file, too

	filtered map[string]int64 // examples that filters did not keep, by source
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

// Use sets the ledger in which the run of the plans lists the records that it leaves
// out: the file of the flag, or else the default one. It returns the ledger's path, ""
// if both are empty. Plans that are nil are skipped.
func (q *QuarantineFlag) Use(p *Program, byDefault string, plans ...*loaders.Plan) string {
	q.ledger = cmp.Or(q.Path, byDefault)
	for _, plan := range plans {
		if plan != nil {
			plan.Quarantine = q.ledger
			q.skips = q.skips || plan.BadRecords != nil
		}
	}
	if q.Path != "" && !q.skips {
		p.Warn(`--quarantine: no config has args.bad_records, so the first bad record ends the run and none is left out`)
	}
	return q.ledger
}

// Needs adds the ledger to the files that the command uses. The sandbox allows writing
// only to existing files, so Needs makes an empty one, which Tell removes if it stays
// empty.
func (q *QuarantineFlag) Needs(needs *sandbox.Policy) {
	if !q.skips || q.ledger == "" {
		return
	}
	f, err := os.OpenFile(q.ledger, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		f.Close()
		q.made = true
	}
	if _, err := os.Stat(q.ledger); err != nil {
		return // the first record that is left out reports it
	}
	needs.Write = append(needs.Write, q.ledger)
	needs.Rename = append(needs.Rename, filepath.Dir(q.ledger))
}

// removeUnused removes a ledger that Needs made and that stayed empty.
func (q *QuarantineFlag) removeUnused() {
	if info, err := os.Stat(q.ledger); q.made && err == nil && info.Size() == 0 {
		os.Remove(q.ledger)
	}
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
	}, Filtered: func(e observe.Filtered) {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.filtered == nil {
			q.filtered = make(map[string]int64)
		}
		q.filtered[e.Source] = e.Examples
	}}
}

// tellFiltered prints how many examples filters did not keep.
func (q *QuarantineFlag) tellFiltered(p *Program) {
	for _, source := range slices.Sorted(maps.Keys(q.filtered)) {
		p.Note("%s: filters did not keep %s", millrace.Quote(source), figures.Of(q.filtered[source], "example"))
	}
}

// Tell prints at the end of the command how many examples filters did not keep, how many bad records
// were skipped, and where they are listed. If there were none it prints nothing.
func (q *QuarantineFlag) Tell(p *Program) {
	q.removeUnused()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tellFiltered(p)
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
