package savedmodel

// Limits on what is read. Options can move the first two.
const (
	defaultMaxBytes = 512 << 20 // of saved_model.pb
	defaultMaxNodes = 1 << 20   // in one graph or function, and functions in a library

	maxTextBytes     = 64 << 20  // of saved_model.pbtxt: text grows when it is parsed
	MaxIndexBytes    = 256 << 20 // of variables.index
	maxSmallBytes    = 1 << 20   // of fingerprint.pb
	maxMessageDepth  = 100       // of nested messages, TensorFlow's own limit
	maxMapKeys       = 1 << 20   // of the maps around one place in a protobuf
	maxFunctionDepth = 256       // of functions that call functions
	maxFunctionCalls = 1 << 20   // of one function, in the functions that it calls too
	maxKeyBytes      = 1 << 16   // of a variable's name
	maxShards        = 1 << 16   // of a variables bundle
	maxVisits        = 16 << 20  // of nodes, for all signatures together
	maxTraceDepth    = 64        // of identities between a file name and its use
	maxViolations    = 32        // unsafe operations that one error names
)
