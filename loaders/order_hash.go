package loaders

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"millrace/loaders/stage/order"
)

// OrderHash returns a digest of the order of a plan: which records stand in which batch of
// the first epoch, read as if it were the only one. Two runs with one digest see the same records in the same
// batches, whatever engine, threads and buffers they have and wherever their files are. It
// depends on the files' order in the list, and not on what the records hold.
//
// It reads the epoch. Where nobody can say which record a row is, as with chunks, it is an
// error of class millrace.ErrConfig. A nil scan has it look at the files first.
func OrderHash(ctx context.Context, p *Plan, scan *Scan) (string, error) {
	if err := order.CheckPlaces(p.Engine()); err != nil {
		return "", err
	}
	once, config := *p, *p.Spec
	once.Spec, config.Epochs = &config, 1
	l, err := OpenPlan(&once, &Options{Scan: scan})
	if err != nil {
		return "", err
	}
	defer l.Close()
	numbers := make(map[string]uint64, len(p.Files))
	for i, f := range p.Files {
		numbers[f.Path] = uint64(i)
	}
	digest := sha256.New()
	var line []byte
	for b, err := range l.Run(ctx, &RunOptions{Places: true}) {
		if err != nil {
			return "", err
		}
		line = binary.AppendUvarint(line[:0], uint64(len(b.Places())))
		for _, at := range b.Places() {
			line = binary.AppendUvarint(binary.AppendUvarint(line, numbers[at.File]), uint64(at.Record))
		}
		digest.Write(line)
	}
	return fmt.Sprintf("%x", digest.Sum(nil)), nil
}
