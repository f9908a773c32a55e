package cases

import (
	"fmt"
	"slices"
)

// compareChunks compares the output of a shuffled chunked_sequence.
func compareChunks(c *Case, actual []batch) error {
	r := &chunkRun{p: &c.Properties, batches: actual}
	if err := r.read(); err != nil {
		return err
	}
	if take := r.p.Take; take != nil && len(actual) != *take {
		return fmt.Errorf("expected %d batches, got %d", *take, len(actual))
	}
	if err := r.find(); err != nil {
		return err
	}
	var passes []*chunkPass
	for e := 0; (r.p.Take == nil || r.at < len(r.found)) && (r.p.Epochs == nil || e < *r.p.Epochs); e++ {
		pass, err := r.epoch(e)
		if err == nil {
			err = r.checkPass(pass)
		}
		if err != nil {
			return fmt.Errorf("epoch %d: %w", e, err)
		}
		passes = append(passes, pass)
	}
	if r.at < len(r.found) {
		return fmt.Errorf("%d batches after the last epoch", len(r.found)-r.at)
	}
	return r.checkPasses(passes)
}

// epoch takes the batches of one epoch.
func (r *chunkRun) epoch(e int) (*chunkPass, error) {
	pass := &chunkPass{epoch: e, first: r.at}
	need, known := r.sequencesOf(e), r.orderOf(e)
	left, seen := map[int]int{}, map[*chunkRow]bool{}
	open := func() bool {
		missing := len(left) < need
		for _, n := range left {
			missing = missing || n > 0
		}
		return missing
	}
	for need > 0 && open() {
		if r.at == len(r.found) {
			if r.p.Take != nil {
				break
			}
			return nil, fmt.Errorf("the output ends before all of %d sequences are complete", need)
		}
		for _, row := range r.found[r.at] {
			if seen[row] {
				return nil, fmt.Errorf("%v comes twice, in batch %d, or that batch goes on into the next epoch", row, r.at)
			}
			if known != nil && !slices.Contains(known, row.sequence) {
				return nil, fmt.Errorf("%v is not of the epoch's part", row)
			}
			if _, ok := left[row.sequence]; !ok {
				left[row.sequence] = r.counts[row.sequence]
			}
			left[row.sequence]--
			seen[row] = true
			pass.rows = append(pass.rows, row)
		}
		if len(left) > need {
			return nil, fmt.Errorf("%d sequences, expected %d", len(left), need)
		}
		r.at++
	}
	pass.batches, pass.whole = r.found[pass.first:r.at], need == 0 || !open()
	return pass, nil
}

// checkPass checks one epoch by itself.
func (r *chunkRun) checkPass(pass *chunkPass) error {
	if err := r.checkBudget(pass.batches); err != nil {
		return err
	}
	if err := r.checkAutomatic(pass); err != nil {
		return err
	}
	return r.checkOrder(pass)
}

// checkBudget checks that each batch is as full as the next row allows.
func (r *chunkRun) checkBudget(batches [][]*chunkRow) error {
	fits := func(rows []*chunkRow) bool {
		if most := r.p.MaxSeqs; most != nil && len(rows) > *most {
			return false
		}
		for _, name := range r.p.Budget {
			longest := 0
			for _, row := range rows {
				longest = max(longest, row.tensors[name].shape[0])
			}
			if fixed := r.p.Fixed[name]; fixed != nil && fixed[0] >= 0 {
				longest = fixed[0]
			}
			if longest*len(rows) > r.p.BatchSize {
				return false
			}
		}
		return true
	}
	for i, rows := range batches {
		if len(rows) > 1 && !fits(rows) {
			return fmt.Errorf("batch %d of the epoch has %d rows, more than the budget allows", i, len(rows))
		}
		if i+1 < len(batches) && fits(append(slices.Clone(rows), batches[i+1][0])) {
			return fmt.Errorf("batch %d of the epoch has %d rows, and the next one would have fitted", i, len(rows))
		}
	}
	return nil
}

// checkAutomatic checks the tensors seq_idx and epoch_end of one epoch.
func (r *chunkRun) checkAutomatic(pass *chunkPass) error {
	values := func(name string) (all []any) {
		for _, b := range r.batches[pass.first : pass.first+len(pass.batches)] {
			all = append(all, b[name].values...)
		}
		return all
	}
	if slices.Contains(r.p.Auto, "epoch_end") {
		for i, mark := range values("epoch_end") {
			if want := pass.whole && i == len(pass.rows)-1; mark != want {
				return fmt.Errorf("epoch_end of row %d is %v, expected %v", i, mark, want)
			}
		}
	}
	if !slices.Contains(r.p.Auto, "seq_idx") {
		return nil
	}
	known, numbers := r.orderOf(pass.epoch), map[int]string{}
	begin, end := r.part(pass.epoch)
	for i, v := range values("seq_idx") {
		row := pass.rows[i]
		got := fmt.Sprint(v)
		if before, ok := numbers[row.sequence]; ok && before != got {
			return fmt.Errorf("seq_idx of sequence %d is %s and %s", row.sequence, before, got)
		}
		numbers[row.sequence] = got
		if known != nil {
			if want := fmt.Sprint(slices.Index(known, row.sequence)); got != want {
				return fmt.Errorf("seq_idx of sequence %d is %s, expected %s", row.sequence, got, want)
			}
		}
	}
	taken := map[string]bool{}
	for s, n := range numbers {
		var number int
		if _, err := fmt.Sscan(n, &number); err != nil || number < 0 || number >= end-begin || taken[n] {
			return fmt.Errorf("seq_idx of sequence %d is %s, which is no position of its own in an epoch of %d", s, n, end-begin)
		}
		taken[n] = true
	}
	return nil
}

// checkOrder checks that no row comes earlier than the shuffle buffers allow.
func (r *chunkRun) checkOrder(pass *chunkPass) error {
	chunks, seqs := max(r.p.ShuffleChunks, 1), max(r.p.ShuffleSeqs, 1)
	if chunks == 1 {
		for i, row := range pass.rows {
			want := 0
			if i > 0 && pass.rows[i-1].sequence == row.sequence {
				want = pass.rows[i-1].number + 1
			}
			if row.number != want {
				return fmt.Errorf("%v is row %d; the chunks of a sequence must come together and in order", row, i)
			}
		}
	}
	known := r.orderOf(pass.epoch)
	switch {
	case known == nil:
	case chunks == 1:
		hidden := 0
		for _, s := range known {
			if r.counts[s] == 0 {
				hidden++
			}
		}
		for i, s := range firsts(pass.rows) {
			if slices.Index(known, s) > i+hidden+seqs-1 {
				return fmt.Errorf("sequence %d comes as number %d: impossible with a buffer of %d", s, i, seqs)
			}
		}
	case seqs == 1:
		return r.checkChunkOrder(pass, known)
	}
	return nil
}

// checkChunkOrder checks shuffled rows of sequences in a known order.
func (r *chunkRun) checkChunkOrder(pass *chunkPass, known []int) error {
	chunks, place, n := r.p.ShuffleChunks, map[[2]int]int{}, 0
	for _, s := range known {
		for k := range r.counts[s] {
			place[[2]int{s, k}] = n
			n++
		}
	}
	runs := 0
	for i, row := range pass.rows {
		if place[[2]int{row.sequence, row.number}] > i+chunks-1 {
			return fmt.Errorf("%v comes as number %d: impossible with a buffer of %d", row, i, chunks)
		}
		if i == 0 || pass.rows[i-1].sequence != row.sequence {
			runs++
		}
	}
	if pass.whole && r.p.Mixed && runs <= len(firsts(pass.rows)) {
		return fmt.Errorf("the chunks of different sequences are not mixed")
	}
	return nil
}
