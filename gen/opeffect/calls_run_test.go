package opeffect

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/internal/base/argcheck"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// registered returns all operations that TensorFlow registers.
func registered(t *testing.T) map[string]*tfproto.OpDef {
	t.Helper()
	raw, err := tfbridge.OpList()
	if err != nil {
		t.Fatal(err)
	}
	var list tfproto.OpList
	if err := proto.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]*tfproto.OpDef{}
	for _, op := range list.Op {
		all[op.Name] = op
	}
	return all
}

// run imports a call as a model does, and runs it.
func run(ctx context.Context, ops map[string]*tfproto.OpDef, c call, lets map[string]let, constants bool) error {
	b := &builder{ops: ops, lets: lets, constants: constants}
	g, err := b.build(c)
	if err != nil {
		return err
	}
	raw, err := marshal(g)
	if err != nil {
		return err
	}
	if err := os.WriteFile("graph.pb", raw, 0o600); err != nil {
		return err
	}
	m, err := graph.ImportModel("graph.pb", nil)
	if err != nil {
		return err
	}
	defer m.Close()
	fetches := []tfbridge.Output{}
	done, err := m.Op("done", 0)
	if err != nil {
		return err
	}
	fetches = append(fetches, done)
	for i, dt := range outputTypes(nodeOf(g, "called"), ops[c.op]) {
		if o, err := m.Op("called", i); err == nil && !isHandle(dt) && !unfetched[c.op] && !ops[c.op].OutputArg[0].IsRef {
			fetches = append(fetches, o)
		}
	}
	for _, name := range []string{"stacked", "read", "used"} {
		if o, err := m.Op(name, 0); err == nil && !isHandle(tfproto.DataType(o.DataType())) {
			fetches = append(fetches, o)
		}
	}
	outs, err := m.Exec(ctx, fetches, nil)
	for _, o := range outs {
		o.Close()
	}
	return err
}

// unfetched lists operations that may have an output that no run can return.
var unfetched = map[string]bool{"Switch": true, "RefSwitch": true, "Enter": true, "RefEnter": true}

func nodeOf(g *tfproto.GraphDef, name string) *tfproto.NodeDef {
	i := slices.IndexFunc(g.Node, func(n *tfproto.NodeDef) bool { return n.Name == name })
	return g.Node[i]
}

// callPatience is how long one call may take. A count of 2^40 may take longer; against
// that there is the deadline of a request.
const callPatience = 8 * time.Second

// changedCalls is the result of runs of calls.
type changedCalls struct {
	failed map[string]string // calls that are not sound, and why
	ended  map[string]int    // how often a call ended the process, by its index
	slow   int               // calls that did not end in time
	ran    int
	all    bool // none was skipped
}

// childMemory is the address space of a child in KB.
const childMemory = 7000000

// runCalls runs calls of the table, by their indices, with a number of changes each, in
// child processes, and reports those that end a process.
func runCalls(t *testing.T, b *book, indices []int, changes int) *changedCalls {
	before := len(indices)
	all := &changedCalls{failed: map[string]string{}, ended: map[string]int{}}
	p := openProgress(t)
	calls := b.all()
	indices = p.left(t, calls, indices)
	all.all = len(indices) == before
	var mu sync.Mutex
	var wait sync.WaitGroup
	for half := range 2 {
		wait.Go(func() {
			var mine []string
			for i := half; i < len(indices); i += 2 {
				mine = append(mine, fmt.Sprint(indices[i], " -1"))
			}
			for len(mine) > 0 {
				mine = childCalls(t, mine, changes, all, &mu, p, calls)
			}
		})
	}
	wait.Wait()
	return all
}

// childCalls runs calls in a process with little memory, until it ends. It returns what is
// left to run.
func childCalls(t *testing.T, mine []string, changes int, all *changedCalls, mu *sync.Mutex, progress *progress, calls []call) []string {
	p, err := startChild(t, childOptions{
		limits: fmt.Sprintf("ulimit -v %d; ulimit -c 0;", childMemory), test: "TestCallsChild", input: mine, patience: callPatience,
		env: []string{probeEnv + "=" + strconv.Itoa(changes), "TF_CPP_MIN_LOG_LEVEL=1"},
	})
	if err != nil {
		t.Error(err)
		return nil
	}
	at, change, what, full := 0, -1, "", false
	ended := p.wait(func(line string) {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "call":
			number, text, _ := strings.Cut(rest, " ")
			change, _ = strconv.Atoi(number)
			what = text
			p.alive()
			mu.Lock()
			all.ran++
			mu.Unlock()
		case "fails":
			mu.Lock()
			all.failed[what] = rest
			mu.Unlock()
		case "survived":
			progress.record(word, rest, calls[indexOf(mine[at])])
			at, change = at+1, -1
		case "full":
			full = true
		}
	})
	if at == len(mine) {
		return nil
	}
	if full && ended == nil {
		return mine[at:]
	}
	stopped := p.stopped.Load()
	alone := ""
	if !stopped {
		alone = endsAlone(t, indexOf(mine[at]), change, changes)
	}
	mu.Lock()
	defer mu.Unlock()
	if stopped {
		t.Logf("SLOW %s", what)
		progress.record("slow", what, calls[indexOf(mine[at])])
		all.slow++
		return mine[at+1:]
	}
	why := fmt.Sprint(ended, ": ", endOf(p.log.String()))
	if alone == "" || alone == outOfMemory {
		t.Logf("%s: %s\n    %s", cmp.Or(alone, "the process has no memory left, and one that only makes this call lives"), what, why)
		progress.record("memory", fmt.Sprint(cmp.Or(alone, "not alone"), ": ", what), calls[indexOf(mine[at])])
		return append([]string{fmt.Sprint(indexOf(mine[at]), " ", change)}, mine[at+1:]...)
	}
	progress.record("ended", fmt.Sprint(what, ": ", strings.ReplaceAll(why, "\n", " ")), calls[indexOf(mine[at])])
	t.Errorf("ends the process, also alone and with %d MiB: %s\n    %s", 3*childMemory>>10, what, why)
	index, _, _ := strings.Cut(mine[at], " ")
	if all.ended[index]++; all.ended[index] == 9 {
		return mine[at+1:]
	}
	return append([]string{fmt.Sprint(index, " ", change)}, mine[at+1:]...)
}

// outOfMemory says that a call lives in a process with more memory.
const outOfMemory = "the call needs more memory than the process may take"

// endsAlone makes one change of a call in a separate process, with as much memory as others and then with three times
// that. It returns "" if the process lives, and otherwise why it ended.
func endsAlone(t *testing.T, index, change, changes int) (why string) {
	for _, limit := range []int{childMemory, 3 * childMemory} {
		p, err := startChild(t, childOptions{
			limits: fmt.Sprintf("ulimit -v %d; ulimit -c 0;", limit), test: "TestCallsChild", input: []string{fmt.Sprint(index, " ", change-1, " alone")}, patience: callPatience,
			env: []string{probeEnv + "=" + strconv.Itoa(changes), "TF_CPP_MIN_LOG_LEVEL=1"},
		})
		if err != nil {
			return err.Error()
		}
		survived := false
		ended := p.wait(func(line string) { survived = survived || strings.HasPrefix(line, "survived") })
		switch {
		case survived && limit == childMemory, p.stopped.Load():
			return ""
		case survived:
			return outOfMemory
		}
		why = fmt.Sprint(ended, ": ", endOf(p.log.String()))
	}
	return why
}

// endOf returns the lines of a log that say why a process ended.
func endOf(log string) (why string) {
	signs := strings.Fields("Check SIG terminate Assertion what(): fatal panic Error")
	for line := range strings.Lines(log) {
		if slices.ContainsFunc(signs, func(s string) bool { return strings.Contains(line, s) }) && len(why) < 600 {
			why += strings.TrimSpace(line) + "; "
		}
	}
	if why == "" {
		why = log[max(0, len(log)-300):]
	}
	return why
}

// TestCallsChild is the process that runs calls. A line of its input is the index of a
// call, and the last change that was tried.
func TestCallsChild(t *testing.T) {
	changes, err := strconv.Atoi(os.Getenv(probeEnv))
	if err != nil {
		t.Skip("a part of TestSoundCalls and TestChangedCalls")
	}
	b := parsedCalls(t)
	ops := registered(t)
	for line := range strings.Lines(childInput(t)) {
		var index, last int
		var alone string // only the next change
		fmt.Sscan(line, &index, &last, &alone)
		c := b.all()[index]
		if last < 0 {
			fmt.Println("call 0", c)
			if err := runFor(time.Minute, ops, c, b.lets, false); err != nil {
				fmt.Println("fails", strings.ReplaceAll(err.Error(), "\n", " "))
			}
		}
		if changes == deepChanges {
			for n, d := range deep(c, b.lets) {
				if n >= max(last, 0) && (alone == "" || n == max(last, 0) && last >= 0) {
					fmt.Println("call", n+1, describe(d.call, d.lets, b.lets))
					runFor(2*time.Second, ops, d.call, d.lets, n%2 == 0) //nolint:errcheck // it may fail, but not end the process
				}
			}
		}
		for n := max(last, 0) + 1; n <= changes && (alone == "" || n == last+1 && last >= 0); n++ {
			changed, lets := newChanger(ops, c, n).change(c, b.lets)
			fmt.Println("call", n, describe(changed, lets, b.lets))
			runFor(500*time.Millisecond, ops, changed, lets, n%3 == 0) //nolint:errcheck // it may fail, but not end the process
		}
		fmt.Println("survived", peak())
		if size, _, _ := strings.Cut(peak(), " "); indexOf(size) > childMemory/2 {
			fmt.Println("full") // each model takes a little address space
			return
		}
	}
}

// indexOf returns the index in a line of a child's input.
func indexOf(line string) (index int) {
	fmt.Sscan(line, &index)
	return index
}

// peak returns how much address space the process has had at once.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmPeak:"); ok {
			return strings.TrimSpace(text)
		}
	}
	return ""
}

func runFor(limit time.Duration, ops map[string]*tfproto.OpDef, c call, lets map[string]let, constants bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return run(ctx, ops, c, lets, constants)
}

// indicesOf returns the indices of calls in the table, which begin at from. A person may
// choose operations by their names.
func indicesOf(calls []call, from int) (indices []int) {
	only := strings.Fields(os.Getenv("MILLRACE_TEST_ONLY"))
	for i, c := range calls {
		if len(only) == 0 || slices.Contains(only, c.op) {
			indices = append(indices, from+i)
		}
	}
	return indices
}

// TestSoundCalls runs the calls of the table, some of them in a brief run. Each operation that a model may use has
// one, or a reason why it has none.
func TestSoundCalls(t *testing.T) {
	b := parsedCalls(t)
	indices := indicesOf(b.calls, 0)
	if !soak.Long() {
		indices = slices.DeleteFunc(indices, func(i int) bool { return i%8 > 0 })
	}
	seen := runCalls(t, b, indices, 0)
	for _, c := range slices.Sorted(maps.Keys(seen.failed)) {
		t.Errorf("%s\n    %s", c, seen.failed[c])
	}
	if seen.slow > 0 {
		t.Errorf("%d calls do not end", seen.slow)
	}
	has := map[string]bool{}
	for _, c := range b.calls {
		has[c.op] = true
	}
	allowed := allowedOps(t)
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if has[name] == (b.none[name] != "") {
			t.Errorf("%s has a sound call: %v, and the reason for none is %q", name, has[name], b.none[name])
		}
	}
	for name := range b.none {
		if allowed[name] == nil {
			t.Errorf("%s is not allowed, and listed as without a call", name)
		}
	}
	t.Logf("%d calls of %d operations; %d have none", len(b.calls), len(has), len(b.none))
}

// deepChanges is a number of changes that stands for the changes of [deep].
const deepChanges = -2

// TestDeepCalls gives the sound calls tensors of 254 dimensions. None of them ends the
// process. A brief run takes a few of them.
func TestDeepCalls(t *testing.T) {
	b := parsedCalls(t)
	indices := indicesOf(b.calls, 0)
	if !soak.Long() {
		indices = slices.DeleteFunc(indices, func(i int) bool { return i%48 > 0 })
	}
	seen := runCalls(t, b, indices, deepChanges)
	t.Logf("%d calls, %d of them slow", seen.ran, seen.slow)
}

var changesOfAll = flag.Int("changes", 4, "changes of each sound call in a long run of TestChangedCalls; 60 take more than an hour")

// TestChangedCalls changes sound calls. None of them ends the process. A brief run takes
// two changes of a few calls, a long one -changes of all.
func TestChangedCalls(t *testing.T) {
	b := parsedCalls(t)
	indices := indicesOf(b.calls, 0)
	if !soak.Long() {
		indices = slices.DeleteFunc(indices, func(i int) bool { return i%24 > 0 })
	}
	seen := runCalls(t, b, indices, soak.Rounds(2, *changesOfAll))
	t.Logf("%d calls, %d of them slow", seen.ran, seen.slow)
}

// TestOddCalls runs calls that mix up what handles refer to: other dtypes than were put in, a
// variant of another kind, an array that is closed. None of them ends the process.
func TestOddCalls(t *testing.T) {
	b := parsedCalls(t)
	indices := indicesOf(b.odd, len(b.calls)+len(b.ends))
	if !soak.Long() {
		indices = slices.DeleteFunc(indices, func(i int) bool { return i%4 > 0 })
	}
	seen := runCalls(t, b, indices, 0)
	for call, why := range seen.failed {
		t.Logf("%s\n    %s", call, why)
	}
}

// rulesElsewhere lists operations whose rules other tests try: they need strings of hundreds
// of megabytes, a handle whose dtype the graph does not show, or have no sound call.
var rulesElsewhere = strings.Fields(`BatchDataset Concat ConcatV2 Pack PaddedBatchDataset ParallelFilterDataset RegexReplace ResourceGather ResourceGatherNd
	SerializeTensor StaticRegexReplace StringFormat StringJoin StringNGrams TensorSummary TensorSummaryV2`)

// TestEndingCalls runs the calls that ended the process before a rule was there. They
// return an error now. Each operation with rules has such a call.
func TestEndingCalls(t *testing.T) {
	b := parsedCalls(t)
	seen := runCalls(t, b, indicesOf(b.ends, len(b.calls)), 0)
	has := map[string]bool{}
	for _, c := range b.ends {
		has[c.op] = true
		if _, failed := seen.failed[c.String()]; !failed && seen.all && seen.ran == len(b.ends) {
			t.Errorf("no error: %s", c)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(argcheck.All())) {
		if !has[op] && !slices.Contains(rulesElsewhere, op) {
			t.Errorf("%s has rules, and no call that they refuse", op)
		}
	}
}
