package main

import (
	"fmt"
	"os"

	"millrace/graph"
	"millrace/tfbridge"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// wholeRecords returns an error for a file that ends within a record. TensorFlow's
// reader would leave that record out.
func wholeRecords(files []string) error {
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if rest := info.Size() % recordBytes; rest != 0 {
			return fmt.Errorf("%s:%d: the file ends within a record, after %d of %d bytes", path, info.Size()/recordBytes, rest, recordBytes)
		}
	}
	return nil
}

// firstFeatures returns the features of the first record of the files.
func firstFeatures(files []string) (*graph.ExampleFeatures, error) {
	for _, path := range files {
		for record, err := range tfrecord.Records(path, nil) {
			if err != nil {
				return nil, err
			}
			features, err := featuresOf(record.Data)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, record.Offset, err)
			}
			return features, nil
		}
	}
	return nil, fmt.Errorf("the files hold no records")
}

// featuresOf returns the features of an Example. The number of values of each is as in
// this Example.
func featuresOf(record []byte) (*graph.ExampleFeatures, error) {
	parsed, err := example.Parse(record)
	if err != nil {
		return nil, err
	}
	features := &graph.ExampleFeatures{}
	for _, name := range parsed.Names() {
		raw, err := parsed.Raw(name)
		if err != nil {
			return nil, err
		}
		f := graph.DenseFeature{Key: name, Shape: tfbridge.ScalarShape()}
		if n := raw.Len(); n != 1 {
			f.Shape = tfbridge.MakeShape(int64(n))
		}
		switch raw.Kind() {
		case example.Int64:
			f.DType = tfbridge.Int64
		case example.Float:
			f.DType = tfbridge.Float
		case example.Bytes:
			f.DType = tfbridge.String
		default:
			return nil, fmt.Errorf("feature %q has no values", name)
		}
		features.Dense = append(features.Dense, f)
	}
	if len(features.Dense) == 0 {
		return nil, fmt.Errorf("the record has no features")
	}
	return features, nil
}
