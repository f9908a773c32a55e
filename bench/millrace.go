package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// millrace is our side.
type millrace struct {
	files
	program string
}

// prepare builds the program unless one was named.
func (m *millrace) prepare(ctx context.Context) error {
	if m.program != "" {
		return nil
	}
	m.program = filepath.Join(m.dir, "millrace")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", m.program, "./cmd/millrace")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build millrace: %w", err)
	}
	return nil
}

// bench runs "millrace bench" over a config.
func (m *millrace) bench(ctx context.Context, config string, args ...string) (f figures, err error) {
	err = runJSON(ctx, &f, m.program, append([]string{"bench", config, "--json"}, args...)...)
	return f, err
}

// figures is what "millrace bench --json" prints.
type figures struct {
	Records      int64   `json:"records"`
	Batches      int64   `json:"batches"`
	Seconds      float64 `json:"seconds"`
	RecordsPerS  float64 `json:"records_per_s"`
	BytesPerS    float64 `json:"bytes_per_s"`
	FirstBatchS  float64 `json:"first_batch_s"`
	PeakRSSBytes int64   `json:"peak_rss_bytes"`
}
