package savedmodel

// Limits on what is read. Options can move the first two.
const (
	defaultMaxBytes = 512 << 20 // of saved_model.pb
	defaultMaxNodes = 1 << 20   // in one graph or function, and functions in a library

	maxTextBytes  = 64 << 20 // of saved_model.pbtxt: text grows when it is parsed
	maxSmallBytes = 1 << 20  // of fingerprint.pb
)
