// Package service has datasets that the workers of TensorFlow's data service compute: it is
// tf.data.experimental.service of Python.
//
//	d = service.Distribute(d, "dispatcher:5050", &service.Options{Sharding: service.Dynamic})
//
// The functions add to the graph of the dataset. A run that starts an iterator makes the job.
package service

import (
	"google.golang.org/protobuf/encoding/protowire"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Sharding says which elements of a dataset each worker of a data service yields, as
// tf.data.experimental.service.ShardingPolicy.
type Sharding int

// The policies that need no list of workers.
const (
	Off     Sharding = 0 // each worker yields all elements
	Dynamic Sharding = 1 // workers draw the elements of the dataset's source; a worker that dies loses its own
)

// Options are the options of datasets of a data service. Nil and the zero value mean
// the defaults.
type Options struct {
	Sharding Sharding

	// Job is the name of the job. Iterators that name the same job share its elements; "": each
	// iterator has a job.
	Job string

	// Snappy has the workers compress elements.
	Snappy bool

	// Local reads from workers of this process alone.
	Local bool
}

// refreshMS is how often a client asks for the workers of its job, and whether it has ended.
const refreshMS = 100

// Fields of messages in attributes and inputs.
const (
	metadataCompression = 2
	modeSharding        = 1

	compressionOff    = 1
	compressionSnappy = 2
)

// Distribute has the workers of a data service compute the dataset. address is the
// dispatcher's, HOST:PORT. It is [Register] and [FromDatasetID].
//
// The dataset's operations, functions and what they capture go to the workers; files are read
// there. An operation that calls Go fails there.
func Distribute(d *dataset.Dataset, address string, o *Options) *dataset.Dataset {
	return FromDatasetID(d.Scope(), Register(d, address, o), address, d.Specs(), o)
}

// Register makes the dataset known to a data service, when a run computes the result: the
// number of the dataset as a string, by which any process can read it. Equal datasets have the
// same number.
//
// It wraps RegisterDatasetV2.
func Register(d *dataset.Dataset, address string, o *Options) tfbridge.Output {
	s := d.Scope()
	compression := uint64(compressionOff)
	if o != nil && o.Snappy {
		compression = compressionSnappy
		d = d.Map("compress", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			if len(args) == 0 {
				return nil
			}
			return []tfbridge.Output{s.Op1("CompressElement", map[string]any{}, tfbridge.OutputList(args))}
		}, nil)
	}
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	return s.Op1("RegisterDatasetV2", map[string]any{
		"external_state_policy": int64(1), // IGNORE: no operation of ours keeps a state that matters
		"metadata":              string(number(metadataCompression, compression)),
	}, d.Variant(), s.Const(address), s.Const("grpc"))
}

// FromDatasetID returns the dataset of that number of a data service. The specs describe its
// elements, and Snappy is as at its registration.
//
// It wraps DataServiceDatasetV4.
func FromDatasetID(s *graph.Scope, id tfbridge.Output, address string, specs []graph.Spec, o *Options) *dataset.Dataset {
	if o == nil {
		o = &Options{}
	}
	if s.Err() != nil {
		return dataset.FromVariant(s, tfbridge.Output{}, nil)
	}
	var mode []byte
	if o.Sharding != Off {
		mode = number(modeSharding, uint64(o.Sharding))
	}
	target := "AUTO"
	if o.Local {
		target = "LOCAL"
	}
	variant := graph.Spec{DType: tfbridge.Variant, Shape: tfbridge.ScalarShape()}
	uncompress := s.Func("uncompress", []graph.Spec{variant}, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		if !o.Snappy {
			return []tfbridge.Output{graph.Identity(s, args[0])}
		}
		return s.Op("UncompressElement", map[string]any{"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs)}, args[0])
	})
	unset := s.Const(int64(-1))
	all := map[string]any{
		"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs), "uncompress_fn": uncompress.Attr(), "uncompress": o.Snappy,
		"target_workers": target, "task_refresh_interval_hint_ms": int64(refreshMS),
	}
	handle := s.Op1("DataServiceDatasetV4", all, id, s.Const(string(mode)), s.Const(address), s.Const("grpc"), s.Const(o.Job),
		unset, unset, unset, s.Op1("DummyIterationCounter", nil))
	return dataset.FromVariant(s, handle, specs)
}

// number encodes a message of one number.
func number(field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), n)
}
