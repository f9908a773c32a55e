// Package message makes the messages in which TensorFlow Serving describes models.
package message
