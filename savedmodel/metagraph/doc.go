// Package metagraph parses the graph of a model into nodes, functions, signatures,
// assets and variables, as far as checks need them. It expects messages that package
// message has checked.
package metagraph
