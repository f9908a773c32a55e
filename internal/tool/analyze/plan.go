package analyze

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/loaders"
	"millrace/loaders/permutation"
	"millrace/loaders/processing"
	"millrace/loaders/processing/catalog"
	"millrace/loaders/spec"
)

// # Which steps are carried out
//
// The question: normalize needs statistics that come from the very data which the config describes,
// so the config cannot be checked before they are there. And what normalize needs are the
// statistics of its tensor before it, not after it.
//
// The answer: the steps that read a file of statistics or a vocabulary are skipped, and with them
// the steps that read what such a step makes. Each tensor is what it is before the first step that
// is skipped. Steps that draw random numbers are skipped as well, without those that follow them,
// and so are those that remove tensors: a text that only a lookup reads is analyzed, too.

// mostConfig bounds a config file.
const mostConfig = 16 << 20

// Replacements returns what takes the place of arguments of a config for an analysis: the steps and
// one epoch, and a shard if one is given. skipped lists the steps that are skipped because they
// need files.
func Replacements(path string, shard *Shard) (list []spec.Replacement, skipped []string, err error) {
	text, err := regularfile.ReadFile(path, mostConfig)
	if err != nil {
		e := millrace.Errorf(millrace.ErrIO, "read loader config: %w", err)
		e.File = path
		return nil, nil, e
	}
	var config struct {
		Args map[string]json.RawMessage `json:"args"`
	}
	if json.Unmarshal(text, &config) != nil {
		return nil, nil, nil // the check of the config explains
	}
	replace := func(key string, value any) {
		if _, given := config.Args[key]; given {
			text, _ := json.Marshal(value) // values of JSON's types encode
			list = append(list, spec.Replacement{Key: key, Value: text})
		}
	}
	for _, key := range []string{"drop_remainder", "sloppy_interleave"} {
		replace(key, false)
	}
	replace("epochs", 1)
	replace("bucket_by_length", nil)
	if shard != nil {
		text, _ := json.Marshal(map[string]int64{"index": shard.Index, "count": shard.Count})
		list = append(list, spec.Replacement{Key: "shard", Value: text})
		if _, given := config.Args["shuffle_mode"]; !given {
			replace("shuffle", false) // buffers cannot be read in parts, and the order does not matter
		}
	}
	if steps, ok := config.Args["processing_steps"]; ok {
		var all []json.RawMessage
		if json.Unmarshal(steps, &all) != nil {
			return list, nil, nil
		}
		var kept []json.RawMessage
		kept, skipped = without(all)
		replace("processing_steps", kept)
	}
	return list, skipped, nil
}

// stepKeys are the keys of a step that decide whether it is carried out.
type stepKeys struct {
	Type    string   `json:"type"`
	Tensor  string   `json:"tensor"`
	Tensors []string `json:"tensors"`
	ToName  string   `json:"to_name"`
	Args    struct {
		Mean       any `json:"mean"`
		Std        any `json:"std"`
		Vocabulary any `json:"vocabulary"`
	} `json:"args"`
}

// file returns the file that the step reads, "" if it reads none.
func (s *stepKeys) file() string {
	if name, ok := s.Args.Vocabulary.(string); ok && s.Type == "lookup" {
		return name
	}
	for _, x := range []any{s.Args.Mean, s.Args.Std} {
		if object, ok := x.(map[string]any); ok && s.Type == "normalize" {
			name, _ := object["from"].(string)
			return name
		}
	}
	return ""
}

// without returns the steps without those that need files, draw or remove tensors.
func without(all []json.RawMessage) (kept []json.RawMessage, skipped []string) {
	kept = []json.RawMessage{}
	unknown := map[string]bool{} // tensors that a step which is skipped makes or changes
	for _, text := range all {
		var s stepKeys
		if json.Unmarshal(text, &s) != nil {
			kept = append(kept, text) // the check of the config explains
			continue
		}
		at := slices.IndexFunc(catalog.Types, func(t processing.Type) bool { return t.Name == s.Type })
		reads := s.Tensors
		if s.Tensor != "" {
			reads = append(reads, s.Tensor)
		}
		to := s.ToName
		if to == "" && len(reads) > 0 {
			to = reads[0]
		}
		file := s.file()
		switch {
		case file != "" || slices.ContainsFunc(reads, func(name string) bool { return unknown[name] }):
			unknown[to] = true
			if file != "" {
				skipped = append(skipped, s.Type+" ("+filepath.Base(file)+")")
			}
		case at >= 0 && catalog.Types[at].Random && s.ToName != "":
			unknown[to] = true
		case at >= 0 && (catalog.Types[at].Random || catalog.Types[at].Drops):
		default:
			delete(unknown, to)
			kept = append(kept, text)
		}
	}
	return kept, skipped
}

// batchRows is how many examples a batch has.
const batchRows = 64

// Plan returns the plan that [Run] reads: batches that hold all values of each tensor, and how many
// these are. p is a plan of the config with [Replacements].
func Plan(p *loaders.Plan) (*loaders.Plan, error) {
	if p.Chunks != nil {
		e := millrace.Errorf(millrace.ErrConfig, "analyze reads examples, and a chunked_sequence makes rows of sequences; write a config of type independent over the same data")
		e.Loader, e.Key = p.Path, "type"
		return nil, e
	}
	q, s := *p, *p.OfExamples()
	q.Spec = &s
	s.Padding, s.DropRemainder, s.BatchSize, s.Bucket, s.Shuffle = nil, false, batchRows, nil, nil
	if s.Records != nil {
		r := *s.Records
		r.Shuffling, s.Records = permutation.None, &r
	}
	ragged := false
	for _, t := range s.Tensors {
		switch at := slices.Index(t.Shape, -1); {
		case at < 0:
		case at > 0 || slices.Contains(t.Shape[1:], -1):
			s.BatchSize = 1 // values of different examples cannot be told apart in a padded batch
		default:
			ragged = true
		}
	}
	if s.BatchSize == 1 || !ragged {
		return &q, nil
	}
	for _, t := range s.Tensors {
		s.Padding = append(s.Padding, spec.Pad{Tensor: t.Name, Shape: slices.Clone([]int64(t.Shape)), Value: processing.ZeroValue(t.DType)})
	}
	measured, _ := q.MeasurePadding()
	return measured, nil
}

// specsOf lists the tensors of a plan that are analyzed.
func specsOf(p *loaders.Plan) (list []known) {
	counts := map[string]string{}
	for _, m := range p.Measures {
		if m.Kind == spec.ElementCount {
			counts[m.Tensor] = m.To
		}
	}
	for _, t := range p.Tensors {
		if slices.ContainsFunc(p.Measures, func(m spec.Measure) bool { return m.To == t.Name }) {
			continue
		}
		list = append(list, known{name: t.Name, dtype: t.DType, shape: t.Shape, count: counts[t.Name]})
	}
	return list
}
