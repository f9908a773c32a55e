package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
)

// dumpedBatches is how many batches of both sides are compared. Scripts dump as many.
const dumpedBatches = 2

// same compares the first batches of a config with those that a Python script dumps,
// because a benchmark is valid only if both sides give the same batches. The script is
// the first of args. It prints the batches by the way of making them.
func (s sides) same(ctx context.Context, config string, args ...string) error {
	out, err := exec.CommandContext(ctx, s.millrace.program, "dump", config, "-n", strconv.Itoa(dumpedBatches)).Output()
	if err != nil {
		return fmt.Errorf("millrace dump %s: %w", config, err)
	}
	var ours []map[string]tensor
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var batch map[string]tensor
		if err := d.Decode(&batch); err != nil {
			return fmt.Errorf("millrace dump %s: %w", config, err)
		}
		ours = append(ours, batch)
	}
	var theirs map[string][]map[string]tensor
	if err := runJSON(ctx, &theirs, s.python.program, args...); err != nil {
		return err
	}
	if len(theirs) == 0 {
		return errors.New("python dumped no batches")
	}
	for way, batches := range theirs {
		if err := equalBatches(ours, batches); err != nil {
			return fmt.Errorf("%s, %s: %w", config, way, err)
		}
	}
	return nil
}

// equalBatches returns an error that names the first difference between the
// batches of both sides.
func equalBatches(ours, theirs []map[string]tensor) error {
	if len(ours) != len(theirs) || len(ours) == 0 {
		return fmt.Errorf("millrace has %d batches, Python %d", len(ours), len(theirs))
	}
	for i, want := range theirs {
		for name := range want {
			if !ours[i][name].equal(want[name]) {
				return fmt.Errorf("batch %d: %q differs between millrace and Python", i, name)
			}
		}
	}
	return nil
}

// tensor is a dumped tensor. Its values are numbers here.
type tensor struct {
	DType  string    `json:"dtype"`
	Shape  []int64   `json:"shape"`
	Values []float64 `json:"values"`
}

// equal compares float32 and small integer values.
func (t tensor) equal(u tensor) bool {
	if t.DType != u.DType || fmt.Sprint(t.Shape) != fmt.Sprint(u.Shape) || len(t.Values) != len(u.Values) {
		return false
	}
	for i := range t.Values {
		if float32(t.Values[i]) != float32(u.Values[i]) {
			return false
		}
	}
	return true
}
