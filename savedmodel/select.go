package savedmodel

import (
	"slices"
	"strings"

	"millrace/internal/base/wire"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// A SavedModel may hold several meta graphs over one set of variables, distinguished by
// their tags: for example {"serve"} for CPUs, {"serve", "gpu"} and {"train"}.
// TensorFlow loads the first meta graph with exactly the requested set of tags; in
// Python, without requested tags, a model's only meta graph. This package selects the
// same one. Only that one is checked, because only that one is serialized again for
// TensorFlow.

// defaultTags are the tags of the meta graph that is read by default.
var defaultTags = []string{"serve"}

// selectGraph returns the MetaGraphDef that the options request.
func (r *reader) selectGraph(b []byte) ([]byte, error) {
	graphs := metaGraphs(b)
	for _, g := range graphs {
		r.tagSets = append(r.tagSets, metaTags(g))
	}
	want := defaultTags
	if r.options.Tags != nil {
		want = slices.Compact(slices.Sorted(slices.Values(r.options.Tags)))
	}
	found := slices.IndexFunc(r.tagSets, func(tags []string) bool { return slices.Equal(tags, want) })
	switch {
	case len(graphs) == 0:
		return nil, r.Fail("holds no graph: it is cut off or not a SavedModel")
	case found < 0 && r.options.Tags == nil && len(graphs) == 1:
		r.Warn("its only graph is taken, although it has the tags %s and not %s", tagSet(r.tagSets[0]), tagSet(want))
		return graphs[0], nil
	case found < 0:
		var present []string
		for _, tags := range r.tagSets {
			present = append(present, tagSet(tags))
		}
		return nil, r.Fail("holds no graph with the tags %s; there is %s: choose one by all of its tags", tagSet(want), modelfile.ShortList(present))
	}
	for _, tags := range r.tagSets[found+1:] {
		if slices.Equal(tags, want) {
			r.Warn("holds several graphs with the tags %s, of which TensorFlow takes the first", tagSet(want))
			break
		}
	}
	return graphs[found], nil
}

// tagSet writes tags for a message.
func tagSet(tags []string) string { return "{" + strings.Join(modelfile.QuoteAll(tags), ", ") + "}" }

// metaTags returns the tags of a MetaGraphDef, sorted.
func metaTags(b []byte) []string {
	tags := []string{}
	for f := range wire.Fields(b) {
		if f.Num != metagraph.MetaInfo {
			continue
		}
		for e := range wire.Fields(f.Bytes) {
			if e.Num == metagraph.InfoTag {
				tags = append(tags, string(e.Bytes))
			}
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// metaGraphs returns the MetaGraphDefs of a SavedModel.
func metaGraphs(b []byte) [][]byte {
	var graphs [][]byte
	for f := range wire.Fields(b) {
		if f.Num == metagraph.SavedModelMetaGraph {
			graphs = append(graphs, f.Bytes)
		}
	}
	return graphs
}
