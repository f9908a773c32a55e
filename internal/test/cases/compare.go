package cases

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Compare compares an output with the case: the batches as NDJSON, the text on standard
// error, and the exit code. It returns nil if they match, and the first difference
// otherwise.
func Compare(c *Case, ndjson, stderr []byte, exit int) error {
	if c.Mode == "error" {
		return compareError(c, string(stderr), exit)
	}
	if exit != 0 {
		return fmt.Errorf("exit code %d: %s", exit, tail(strings.TrimSpace(string(stderr)), 600))
	}
	actual, err := readNDJSON(ndjson)
	if err != nil {
		return err
	}
	switch c.Mode {
	case "exact":
		return compareExact(c, actual)
	case "multiset":
		return compareMultiset(c, actual)
	case "windows":
		return compareWindows(c, actual)
	case "chunks":
		return compareChunks(c, actual)
	}
	return fmt.Errorf("unknown mode %q", c.Mode)
}

// compareError checks that standard error contains the expected words. It removes the
// name of the case first, because the name often contains the same words.
func compareError(c *Case, stderr string, exit int) error {
	if exit == 0 {
		return errors.New("expected an error, the exit code is 0")
	}
	if strings.TrimSpace(stderr) == "" {
		return fmt.Errorf("exit code %d, but nothing on stderr", exit)
	}
	low := strings.ToLower(strings.ReplaceAll(stderr, c.Name, "<case>"))
	for _, word := range c.ErrorContains {
		either := strings.Split(strings.ToLower(word), "|")
		if !slices.ContainsFunc(either, func(w string) bool { return strings.Contains(low, w) }) {
			return fmt.Errorf("stderr does not name %q: %s", word, show(strings.TrimSpace(stderr)))
		}
	}
	return nil
}

// batch is one batch by tensor name.
type batch map[string]*tensor

func readNDJSON(data []byte) ([]batch, error) {
	var batches []batch
	in := bufio.NewReader(bytes.NewReader(data))
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			b, err := readBatch(text, fmt.Sprintf("actual batch %d", len(batches)))
			if err != nil {
				return nil, fmt.Errorf("line %d of the output: %w", line, err)
			}
			batches = append(batches, b)
		}
		if errors.Is(err, io.EOF) {
			return batches, nil
		}
	}
}

func readBatches(raw []json.RawMessage, what string) ([]batch, error) {
	batches := make([]batch, len(raw))
	for i, r := range raw {
		b, err := readBatch(r, fmt.Sprintf("%s batch %d", what, i))
		if err != nil {
			return nil, err
		}
		batches[i] = b
	}
	return batches, nil
}

func readBatch(raw []byte, where string) (batch, error) {
	var obj map[string]json.RawMessage
	if err := json.Unmarshal(raw, &obj); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if len(obj) == 0 {
		return nil, fmt.Errorf("%s: not an object of tensors", where)
	}
	b := make(batch, len(obj))
	for name, r := range obj {
		t, err := readTensor(r, fmt.Sprintf("%s tensor %s", where, name))
		if err != nil {
			return nil, err
		}
		b[name] = t
	}
	return b, nil
}

func compareExact(c *Case, actual []batch) error {
	want, err := readBatches(c.Batches, "expected")
	if err != nil {
		return err
	}
	for i := range min(len(want), len(actual)) {
		if err := sameBatch(want[i], actual[i], fmt.Sprintf("batch %d", i)); err != nil {
			return err
		}
	}
	if len(want) != len(actual) {
		return fmt.Errorf("expected %d batches, got %d", len(want), len(actual))
	}
	return nil
}

func sameBatch(want, got batch, where string) error {
	if w, g := names(want), names(got); !slices.Equal(w, g) {
		return fmt.Errorf("%s: expected tensors %q, got %q", where, w, g)
	}
	for _, k := range names(want) {
		w, g, where := want[k], got[k], where+" tensor "+k
		if w.dtype != g.dtype {
			return fmt.Errorf("%s: expected dtype %s, got %s", where, w.dtype, g.dtype)
		}
		if !slices.Equal(w.shape, g.shape) {
			return fmt.Errorf("%s: expected shape %v, got %v", where, w.shape, g.shape)
		}
		for j := range w.values {
			if w.values[j] != g.values[j] {
				return fmt.Errorf("%s value %d: expected %s, got %s", where, j, show(w.values[j]), show(g.values[j]))
			}
		}
	}
	return nil
}

// names returns the keys of m in order.
func names[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// show returns a value short enough to print.
func show(v any) string {
	text := fmt.Sprintf("%#v", v)
	if len(text) > 200 {
		return text[:200] + "..."
	}
	return text
}

// tail returns the last n bytes of s.
func tail(s string, n int) string {
	return s[max(0, len(s)-n):]
}
