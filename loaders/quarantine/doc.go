// Package quarantine leaves bad records out of a run, counts them and lists them.
//
// A record is bad if its data do not match their checksum, if its bytes do not parse,
// or if its features do not fit the manifest. A [Reader] reads the records of a file
// and passes over the bad ones:
//
//	r := &quarantine.Reader{File: file, Index: index, Check: check, LeaveOut: list.LeaveOut}
//	for {
//		data, err := r.Next() // of a good record
//		...
//	}
//
// A [List] knows which records a run has left out, and ends the run when there are too
// many. A [Ledger] is the file that names them, for people and for [Extract], which
// copies their bytes.
//
// # One record, counted once
//
// The question. A run meets the same bad record many times: once in each epoch, again
// when it is resumed from a state that was saved while records were in buffers, and
// again after a failure that makes it start again. A counter would count it each time,
// and end a run whose data have not become worse.
//
// The answer. A List is a set of places, file and ordinal, and the budget limits its
// size. Meeting a record again changes nothing. A saved state contains the set. The
// Ledger is a set as well: it is read before it is written to, and a record that it
// names is not listed again. So a run may be killed at any moment and resumed.
package quarantine
