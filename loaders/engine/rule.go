package engine

import (
	"slices"
	"strings"
)

// Rewrite is the plan's decision about one rewrite, and the reason.
type Rewrite struct {
	Name    string `json:"name"`
	Applied bool   `json:"applied"`
	Why     string `json:"why"`
}

// rewrite is a part of the table: the rules that decide one rewrite. The first rule
// that matches a plan decides, and gives the reason. The last rule matches every plan.
type rewrite struct {
	name  string
	shown func(Choice) bool // whether [Choice.Rewrites] lists it; nil = always
	rules []rule
}

// rule is a line of the table.
type rule struct {
	stage   stage             // the rule matches only plans with this stage; "" = all plans
	when    func(Choice) bool // the rule matches only where this is true; nil = always
	applied bool
	why     string // LISTS stands for the features with any number of values in a record
}

// stage names a stage by which the table distinguishes plans.
type stage string

const (
	windows stage = "window"
	chunked stage = "chunks"
	buckets stage = "bucket"
	shuffle stage = "shuffle"
	padding stage = "padded batch"
)

// in reports whether a plan has the stage.
func (s stage) in(c Choice) bool {
	switch s {
	case windows:
		return c.Window != nil
	case chunked:
		return c.Chunks != nil
	case buckets:
		return c.Bucket != nil
	case shuffle:
		return c.Shuffle != nil
	case padding:
		return c.Examples().Padding != nil
	}
	return true
}

// decide returns the decision of the first rule that matches.
func (c Choice) decide(r rewrite) Rewrite {
	i := slices.IndexFunc(r.rules, func(l rule) bool { return l.stage.in(c) && (l.when == nil || l.when(c)) })
	lists := "features of variable length"
	if c.Manifest.AllowVarLen {
		lists = "feature lists"
	}
	why := strings.ReplaceAll(r.rules[i].why, "LISTS", lists)
	why = strings.ReplaceAll(why, "SINGLE", c.SingleStep())
	return Rewrite{Name: r.name, Applied: r.rules[i].applied, Why: why}
}

// Rewrites lists the optimiser's decisions about the stages, and the reasons. No
// rewrite changes a batch.
func (c Choice) Rewrites() (list []Rewrite) {
	for _, r := range []rewrite{native(), batchImages, parseBatches, groupBatches, shuffleBytes, joinFiles, shareParse, cutBlocks, raggedRows, batchWords, staticPad} {
		if r.shown == nil || r.shown(c) {
			list = append(list, c.decide(r))
		}
	}
	return list
}

// Native decides whether Millrace's own operations decode the records, or cut
// windows from them, in place of TensorFlow's. Where files come one after
// another, those operations read the files too.
func (c Choice) Native() Rewrite { return c.decide(native()) }

// ParseBatches decides whether serialized records are batched before they are
// parsed. A batch of Examples is then one tensor a feature, and every later
// stage works on it with one more axis in front. Feature lists become ragged
// rows.
func (c Choice) ParseBatches() Rewrite { return c.decide(parseBatches) }

// JoinFiles decides whether one reader reads all files, in order.
func (c Choice) JoinFiles() Rewrite { return c.decide(joinFiles) }

// RaggedRows decides whether rows of different lengths travel joined end to end,
// and become tensors only when they are a batch.
func (c Choice) RaggedRows() Rewrite { return c.decide(raggedRows) }
