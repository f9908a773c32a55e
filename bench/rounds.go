package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// round is one measurement of everything.
type round struct {
	Read         figures     `json:"read"`
	First        figures     `json:"first"` // a single pass, as in Python's start
	Predict      figures     `json:"predict"`
	PerRecord    pythonRate  `json:"python_per_record"`
	Vectorised   pythonRate  `json:"python_vectorised"`
	Regrouped    pythonRate  `json:"python_regrouped"`
	Loop         pythonRate  `json:"python_predict"`
	Start        pythonStart `json:"python_start"`
	StartPredict pythonStart `json:"python_start_predict"`

	Compressed compressedRound `json:"gzip"`
	Records    recordRound     `json:"records"`
	Convert    convertRound    `json:"convert"`

	Sequences sequenceRound `json:"sequences"`
	Live      liveRound     `json:"live"`
	Seq       seqRound      `json:"go_sequences"`
	Queues    queueRound    `json:"queues"`

	Training map[string]*trainRound `json:"training"` // key: the kind of model

	Keras map[string]kerasRate `json:"keras,omitempty"` // rates by model

	Serving map[string]*servingRound `json:"serving,omitempty"` // key: the kind of model

	Cluster *clusterRound `json:"cluster,omitempty"` // only -only cluster fills it

	Goals map[string]*goalRound `json:"goals,omitempty"` // only -only goals fills it, the key is the kind of model

	Speech speechRound `json:"chunks"` // result of -only chunks
}

// check returns an error unless both sides read all records.
func (r *round) check() error {
	if r.First.Records == 0 || r.First.Records != r.Start.Records {
		return fmt.Errorf("millrace read %d records in a pass, Python %d", r.First.Records, r.Start.Records)
	}
	if r.Read.Records != r.Predict.Records || r.Read.Records%r.First.Records != 0 {
		return fmt.Errorf("millrace read %d records, and %d with the model; a pass has %d",
			r.Read.Records, r.Predict.Records, r.First.Records)
	}
	return nil
}

// repeat takes rounds.
func repeat(n int, measure func() (round, error)) ([]round, error) {
	var rounds []round
	for i := range n {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i+1, n)
		r, err := measure()
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, r)
	}
	return rounds, nil
}

// writeResults writes all figures of all rounds to a file.
func writeResults(path string, rounds []round) error {
	text, err := json.MarshalIndent(rounds, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o666)
}

// speechRound is one measurement of chunked_sequence, in frames of chunks a
// second.
type speechRound struct {
	Ours    figures     `json:"ours"`
	Frames  float64     `json:"frames_per_s"`
	Returnn returnnRate `json:"returnn"`
	Copy    float64     `json:"memcpy_frames_per_s"`
}

// returnnRate is what the script of RETURNN's side prints.
type returnnRate struct {
	FramesPerS float64 `json:"frames_per_s"`
	Frames     int64   `json:"frames"`
	Batches    int64   `json:"batches"`
}

// clusterRound is one measurement of a training by several processes.
type clusterRound struct {
	Alone    trainRate `json:"alone"`
	Together trainRate `json:"together"`
}

// compressedRound is one measurement of compressed files.
type compressedRound struct {
	Ours    figures    `json:"ours"`
	Python  pythonRate `json:"python"`
	Inflate float64    `json:"inflate_records_per_s"`
}

// convertRound is one measurement of writing.
type convertRound struct {
	Structs       float64               `json:"structs_records_per_s"`
	StructsPython pythonWritten         `json:"structs_python"`
	StructsBare   bareRate              `json:"structs_plain"`
	Tables        map[string]tableRound `json:"tables"` // key: the kind
}

// pythonWritten is what the script prints of structs.
type pythonWritten struct {
	pythonRate
	Anew float64 `json:"anew_records_per_s"` // rate of the fastest way that makes a new Example for each record
}

// bareRate is what plain C++ prints.
type bareRate struct {
	Memory float64 `json:"memory_records_per_s"`
	File   float64 `json:"file_records_per_s"`
}

// tableRound is one measurement of converting a table.
type tableRound struct {
	Rows    int64       `json:"rows"`
	Seconds float64     `json:"seconds"`
	Python  pythonTable `json:"python"`
}

// pythonTable is what the script prints of a table.
type pythonTable struct {
	Rows    int64              `json:"rows"`
	Seconds float64            `json:"seconds"`
	Way     string             `json:"way"`
	Anew    float64            `json:"anew_records_per_s"` // rate of the first rows without reading, with a new Example for each
	Reading map[string]float64 `json:"reading_s"`
	Sample  map[string]float64 `json:"sample_s"`
}

// seqRound is one measurement of live elements.
type seqRound struct {
	Ours, Python seqRates
}

// goalRound is one measurement of the goals for one model.
type goalRound struct {
	Ours   map[int]served `json:"millrace"` // the key is the number of clients
	Theirs map[int]served `json:"fastapi_batched"`

	OursWithin   served `json:"millrace_within"`
	TheirsWithin served `json:"fastapi_batched_within"`

	ProcessorS float64 `json:"server_processor_s"` // one row a request, one client
	Best       served  `json:"best"`               // pinned
	Half       served  `json:"half_load"`          // pinned
	Good       float64 `json:"goodput_requests_per_s"`
	RefusalS   float64 `json:"refusal_p99_s"`
	Late       int64   `json:"late"` // requests without an answer at the end of the overload
}

// kerasRate is what the script prints of a model.
type kerasRate struct {
	Model     string  `json:"model"`
	Error     string  `json:"error"`    // "": none
	Worst     float64 `json:"worst_50"` // largest difference of the losses of one of the first 50 steps
	StepsPerS float64 `json:"steps_per_s"`
	Keras     float64 `json:"keras_steps_per_s"`

	Memory      float64 `json:"memory"` // most bytes of the process
	KerasMemory float64 `json:"keras_memory"`
}

// liveRound is one measurement of small live predictions.
type liveRound struct {
	Ours, Bare, Python latency
}

// queueRound is one measurement: records/s by the name of the way, and frames/s of the
// providers of package datapipeline.
type queueRound struct {
	Ours      map[string]float64 `json:"millrace"`
	Python    map[string]float64 `json:"python"`
	Providers map[string]float64 `json:"providers"`
}

// recordRound is one measurement of records.
type recordRound struct {
	Kinds map[string]*kindRound `json:"kinds"`
	Exact figures               `json:"exact"`
	Order figures               `json:"in_order"`

	Buffered       figures    `json:"buffered"`
	BufferedPython pythonRate `json:"buffered_python"`
	moreRound
}

// kindRound is one measurement of a kind.
type kindRound struct {
	Ours   figures    `json:"ours"`
	Python pythonRate `json:"python"`
	Limit  float64    `json:"limit_records_per_s"`
}

// moreRound is one measurement of pictures, of the opening of many files, and of states.
type moreRound struct {
	JPEG        float64    `json:"jpeg_images_per_s"`
	JPEGAlone   float64    `json:"jpeg_alone_images_per_s"` // without reading and batches
	JPEGPython  pythonRate `json:"jpeg_python"`
	Opening     figures    `json:"opening"`
	State       float64    `json:"state_bytes"`
	StatePython float64    `json:"python_state_bytes"`
}

// sequenceRound is one measurement of the sequence loaders.
type sequenceRound struct {
	Windows map[string]*windowRound `json:"windows"` // key: a windowKey
	Lists   figures                 `json:"lists"`
	Single  pythonRate              `json:"python_lists_per_record"`
	Batched pythonRate              `json:"python_lists_batched"`
}

// windowRound is one measurement of windows of a size and form.
type windowRound struct {
	Ours    figures    `json:"ours"`
	Samples float64    `json:"samples_per_s"`
	Slide   pythonRate `json:"python_slide"`  // samples/s; not of every kind
	Chunks  pythonRate `json:"python_chunks"` // samples/s
	Copy    float64    `json:"memcpy_samples_per_s"`
}

// servingRound is one measurement of the servers of one model.
type servingRound struct {
	Alone    served `json:"millrace_unbatched"`
	Batched  served `json:"millrace"`
	Half     served `json:"millrace_half_load"`
	GRPC     served `json:"millrace_grpc"`
	Python   served `json:"fastapi"`
	PythonNP served `json:"fastapi_batched"`

	// The same at a latency within servingLimit.
	BatchedWithin  served `json:"millrace_within"`
	PythonWithin   served `json:"fastapi_within"`
	PythonNPWithin served `json:"fastapi_batched_within"`

	// Same is the share of the batched answers that equal the unbatched ones to the
	// last bit. TensorFlow computes one row by another algorithm than several.
	Same float64 `json:"same_answers"`
}

// trainRate is the speed of a training.
type trainRate struct {
	StepsPerS float64 `json:"steps_per_s"`
	Loss      float64 `json:"loss"` // loss of the last step
}

// trainRound is one measurement of the training of one model.
type trainRound struct {
	Ours        trainRate `json:"millrace"`
	Checkpoints trainRate `json:"millrace_with_checkpoints"`
	Loop        trainRate `json:"loop"`
	Arithmetic  trainRate `json:"arithmetic"` // Python's, without input
	Fit         trainRate `json:"fit"`
	FitSeveral  trainRate `json:"fit_several"` // several steps in one call
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

// pythonRate is the speed of the fastest of several ways.
type pythonRate struct {
	RecordsPerS float64            `json:"records_per_s"`
	Way         string             `json:"way"`
	Ways        map[string]float64 `json:"ways"`
}

// pythonStart is the time and memory of a start.
type pythonStart struct {
	Records      int64   `json:"records"`
	FirstBatchS  float64 `json:"first_batch_s"`
	PeakRSSBytes int64   `json:"peak_rss_bytes"`
}

// latency is how long the median call takes.
type latency struct {
	P50S float64 `json:"p50_s"`
}

// served is the result of a load.
type served struct {
	RequestsPerS float64 `json:"requests_per_s"`
	P50S         float64 `json:"p50_s"`
	P99S         float64 `json:"p99_s"`
	// GeneratorS is the load generator's processor time per answer.
	GeneratorS float64 `json:"generator_s"`
	// ServerS is the processor time of the server and its workers per answer, where it was measured.
	ServerS float64 `json:"server_s,omitempty"`
}

// seqRates are elements/s.
type seqRates struct {
	Scalars float64 `json:"scalars"`
	Vectors float64 `json:"vectors"`
	Strings float64 `json:"strings"`
}
